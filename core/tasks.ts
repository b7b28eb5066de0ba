/** All tasks that jobs can run, by name. */

import type { Keep } from "./config.ts";
import { DELIVER_WEBHOOKS } from "./events/publisher.ts";
import { CHECK_INVOICE_STATUS } from "./invoices/check_job.ts";
import { createCheckInvoiceStatus } from "./invoices/check_invoice_status.ts";
import type { InvoiceDeps } from "./invoices/deps.ts";
import { pauseWhileGatewayDown, type Tasks } from "./jobs/task.ts";
import {
  createProcessNotification,
  PROCESS_NOTIFICATION,
} from "./notifications/process_notification.ts";
import { CHECK_PAYMENT_STATUS } from "./payments/check_job.ts";
import { createCheckPaymentStatus } from "./payments/check_payment_status.ts";
import { createExpireStalePayment, EXPIRE_STALE_PAYMENT } from "./payments/expire_stale_payment.ts";
import { createProcessChargeAsync, PROCESS_CHARGE_ASYNC } from "./payments/process_charge_async.ts";
import { createProcessRefundAsync, PROCESS_REFUND_ASYNC } from "./payments/process_refund_async.ts";
import type { SecretBox } from "./secret_box.ts";
import { createDeliveries } from "./subscribers/deliver.ts";
import type { Events } from "./subscribers/subscribe.ts";
import { CHECK_SUBSCRIPTION_STATUS } from "./subscriptions/check_job.ts";
import { createCheckSubscriptionStatus } from "./subscriptions/check_subscription_status.ts";
import { createDeliverWebhooks } from "./webhooks/deliver.ts";
import type { Poster } from "./webhooks/post.ts";
import { createExpediteWebhooks, EXPEDITE_WEBHOOKS } from "./webhooks/sweep.ts";

export interface TaskDeps extends InvoiceDeps {
  /** For how many days finished records are kept. */
  keep: Keep;
  /** Encrypts card tokens of queued charges, and the secrets of webhook endpoints. */
  secrets: SecretBox;
  poster: Poster;
  events: Events;
}

export function createTasks(deps: TaskDeps): Tasks {
  return {
    [CHECK_PAYMENT_STATUS]: pauseWhileGatewayDown(deps, createCheckPaymentStatus(deps)),
    [EXPIRE_STALE_PAYMENT]: pauseWhileGatewayDown(deps, createExpireStalePayment(deps)),
    [CHECK_INVOICE_STATUS]: pauseWhileGatewayDown(deps, createCheckInvoiceStatus(deps)),
    [CHECK_SUBSCRIPTION_STATUS]: pauseWhileGatewayDown(deps, createCheckSubscriptionStatus(deps)),
    [PROCESS_NOTIFICATION]: pauseWhileGatewayDown(deps, createProcessNotification(deps)),
    [PROCESS_CHARGE_ASYNC]: pauseWhileGatewayDown(deps, createProcessChargeAsync(deps)),
    [PROCESS_REFUND_ASYNC]: pauseWhileGatewayDown(deps, createProcessRefundAsync(deps)),
    [DELIVER_WEBHOOKS]: createDeliverWebhooks(deps),
    [EXPEDITE_WEBHOOKS]: createExpediteWebhooks(deps),
    ...createDeliveries(deps),
  };
}
