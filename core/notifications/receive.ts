/** `receiveNotification`: applies a notification that `parseNotification` has accepted. */

import type { GatewayNotification } from "../../db/notifications.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { GatewayError } from "../gateway/errors.ts";
import { PROCESS_NOTIFICATION } from "../jobs/task_names.ts";
import { newJob } from "../outbox.ts";
import { applyReport } from "../payments/apply_report.ts";
import { checkNotifiedSubscription } from "../subscriptions/notified.ts";
import {
  confirmNotification,
  findNotifiedPayment,
  type NotificationDeps,
  recordNotification,
  recordResult,
} from "./confirm.ts";
import { decideTrust } from "./decide_trust.ts";
import { newNotification, type SignedNotification, type UnsignedNotification } from "./parse.ts";

/** The gateway expects a response within 5 s. */
const RESPONSE_MS = 4_000;

export interface Receipt {
  /** Null: the notification is not stored. */
  notificationId: string | null;
}

export interface ReceiveDeps extends NotificationDeps {
  /** The same gateway with its own limiter, so that many notifications do not delay callers. */
  background: GatewayClient;
  /** `paid`: the gateway has to confirm every notification that a payment is paid. */
  confirm: "fit" | "paid";
}

/** Finds the payment, decides trust, applies the report, records the result. */
export async function receiveNotification(
  deps: ReceiveDeps,
  received: SignedNotification | UnsignedNotification,
): Promise<Receipt> {
  if (received.kind === "unsigned") {
    await checkNotifiedSubscription(deps, received.body);
    return { notificationId: null };
  }
  const startedAt = deps.clock();
  const notification = newNotification(received, new Date(startedAt));
  const payment = await findNotifiedPayment(deps, notification);
  const isFinished = payment !== null &&
    await applyIfTrusted(deps, received, notification, payment);
  if (!isFinished) await confirmInTime(deps, notification, startedAt + RESPONSE_MS);
  return { notificationId: notification.id };
}

/** False: the gateway has to confirm the notification first. */
async function applyIfTrusted(
  deps: ReceiveDeps,
  received: SignedNotification,
  notification: GatewayNotification,
  known: GatewayPayment,
): Promise<boolean> {
  for (let payment = known;;) {
    const decision = decideTrust(payment, received, deps.confirm);
    if (decision === "confirm") return false;
    if (decision !== "trust") {
      await recordNotification(deps, { ...notification, status: decision, payment_id: payment.id });
      return true;
    }
    const applied = await applyReport(deps, payment, {
      answer: received.transaction,
      source: "notification",
      askedAtVersion: null,
      notification,
      isUnconfirmed: true,
    });
    if (!applied.isOutdated) {
      await recordResult(deps, applied);
      return true;
    }
    payment = applied.payment;
  }
}

/** If the gateway does not answer in time, a job confirms the notification later. */
async function confirmInTime(
  deps: ReceiveDeps,
  notification: GatewayNotification,
  until: number,
): Promise<void> {
  try {
    await confirmNotification({ ...deps, gateway: withDeadline(deps, until) }, notification);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const now = new Date(deps.clock());
    const subject = { id: notification.id, user_id: null };
    const payload = { notification_id: notification.id };
    const job = newJob(PROCESS_NOTIFICATION, subject, payload, { runAt: now, now });
    await recordNotification(deps, notification, [job]);
  }
}

function withDeadline({ background, clock }: ReceiveDeps, until: number): GatewayClient {
  const left = () => Math.max(until - clock(), 1);
  return {
    ...background,
    getStatus: (id) => background.getStatus(id, { deadlineMs: left() }),
    getInvoice: (id) => background.getInvoice(id, { deadlineMs: left() }),
  };
}
