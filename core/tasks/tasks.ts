/** All tasks that jobs can run, by name. */

import { DELIVER_WEBHOOKS } from "../events/waker.ts";
import { createSettleCheckout } from "../checkouts/settle_checkout.ts";
import { createCheckInvoiceStatus } from "../invoices/check_invoice_status.ts";
import { pauseWhileGatewayDown, type Tasks } from "../jobs/task.ts";
import {
  CHECK_INVOICE_STATUS,
  CHECK_PAYMENT_STATUS,
  CHECK_SUBSCRIPTION_STATUS,
  PROCESS_NOTIFICATION,
  SETTLE_CHECKOUT,
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
import { createDeliveryTasks } from "../handlers/deliver.ts";
import type { RegisteredHandler } from "../handlers/events.ts";
import type { Service } from "../service.ts";
import { createCheckSubscriptionStatus } from "../subscriptions/check_subscription_status.ts";
import { createDeliverWebhooks } from "../webhooks/deliver.ts";
import { createResumeWebhooks, RESUME_WEBHOOKS } from "../webhooks/sweep.ts";

export function createTasks(service: Service, handlers: readonly RegisteredHandler[] = []): Tasks {
  return {
    [CHECK_PAYMENT_STATUS]: pauseWhileGatewayDown(service, createCheckPaymentStatus(service)),
    [EXPIRE_STALE_PAYMENT]: pauseWhileGatewayDown(
      service,
      createExpireStalePayment(service),
      EXPIRE_CALLS,
    ),
    [CHECK_INVOICE_STATUS]: pauseWhileGatewayDown(service, createCheckInvoiceStatus(service)),
    [CHECK_SUBSCRIPTION_STATUS]: pauseWhileGatewayDown(
      service,
      createCheckSubscriptionStatus(service),
    ),
    [PROCESS_NOTIFICATION]: pauseWhileGatewayDown(service, createProcessNotification(service)),
    [PROCESS_CHARGE_ASYNC]: pauseWhileGatewayDown(service, createProcessChargeAsync(service), [
      "write",
    ]),
    [PROCESS_REFUND_ASYNC]: pauseWhileGatewayDown(service, createProcessRefundAsync(service), [
      "write",
    ]),
    [SETTLE_CHECKOUT]: pauseWhileGatewayDown(service, createSettleCheckout(service)),
    [RECONCILE]: createReconcile(service),
    [TAKE_OVER_MISSING]: pauseWhileGatewayDown(service, createTakeOverMissing(service)),
    [DELIVER_WEBHOOKS]: createDeliverWebhooks(service),
    [RESUME_WEBHOOKS]: createResumeWebhooks(service),
    ...createDeliveryTasks(service, handlers),
  };
}
