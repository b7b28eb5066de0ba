/** All tasks that jobs can run, by name. */

import type { RecheckConfig, RetentionDays } from "../config/config.ts";
import { DELIVER_WEBHOOKS } from "../events/waker.ts";
import { createCheckInvoiceStatus } from "../invoices/check_invoice_status.ts";
import type { InvoiceDeps } from "../invoices/invoice_record.ts";
import { pauseWhileGatewayDown, type Tasks } from "../jobs/task.ts";
import {
  CHECK_INVOICE_STATUS,
  CHECK_PAYMENT_STATUS,
  CHECK_SUBSCRIPTION_STATUS,
  PROCESS_NOTIFICATION,
} from "../jobs/task_names.ts";
import { createProcessNotification } from "../notifications/process_notification.ts";
import { createCheckPaymentStatus } from "../payments/check_payment_status.ts";
import {
  createExpireStalePayment,
  EXPIRE_CALLS,
  EXPIRE_STALE_PAYMENT,
} from "../payments/expire_stale_payments.ts";
import {
  createProcessChargeAsync,
  PROCESS_CHARGE_ASYNC,
} from "../payments/process_charge_async.ts";
import {
  createProcessRefundAsync,
  PROCESS_REFUND_ASYNC,
} from "../payments/process_refund_async.ts";
import { createReconcile, RECONCILE } from "../reports/reconcile.ts";
import { createTakeOverMissing, TAKE_OVER_MISSING } from "../reports/take_over.ts";
import type { SecretBox } from "../secrets/secret_box.ts";
import { createDeliveryTasks } from "../handlers/deliver.ts";
import type { Events } from "../handlers/events.ts";
import { createCheckSubscriptionStatus } from "../subscriptions/check_subscription_status.ts";
import { createDeliverWebhooks } from "../webhooks/deliver.ts";
import type { Poster } from "../webhooks/post.ts";
import { createResumeWebhooks, RESUME_WEBHOOKS } from "../webhooks/sweep.ts";

export interface TaskDeps extends InvoiceDeps {
  /** For how many days finished rows and waiting deliveries are kept. */
  keep: RetentionDays;
  recheck: RecheckConfig;
  /** Encrypts card tokens of queued charges, and the secrets of webhook endpoints. */
  secrets: SecretBox;
  poster: Poster;
  events: Events;
}

export function createTasks(deps: TaskDeps): Tasks {
  return {
    [CHECK_PAYMENT_STATUS]: pauseWhileGatewayDown(deps, createCheckPaymentStatus(deps)),
    [EXPIRE_STALE_PAYMENT]: pauseWhileGatewayDown(
      deps,
      createExpireStalePayment(deps),
      EXPIRE_CALLS,
    ),
    [CHECK_INVOICE_STATUS]: pauseWhileGatewayDown(deps, createCheckInvoiceStatus(deps)),
    [CHECK_SUBSCRIPTION_STATUS]: pauseWhileGatewayDown(deps, createCheckSubscriptionStatus(deps)),
    [PROCESS_NOTIFICATION]: pauseWhileGatewayDown(deps, createProcessNotification(deps)),
    [PROCESS_CHARGE_ASYNC]: pauseWhileGatewayDown(deps, createProcessChargeAsync(deps), ["write"]),
    [PROCESS_REFUND_ASYNC]: pauseWhileGatewayDown(deps, createProcessRefundAsync(deps), ["write"]),
    [RECONCILE]: createReconcile(deps),
    [TAKE_OVER_MISSING]: pauseWhileGatewayDown(deps, createTakeOverMissing(deps)),
    [DELIVER_WEBHOOKS]: createDeliverWebhooks(deps),
    [RESUME_WEBHOOKS]: createResumeWebhooks(deps),
    ...createDeliveryTasks(deps),
  };
}
