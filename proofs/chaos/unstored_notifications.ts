/** Finds notifications that the service has answered with 200 and not stored. */

import type { AcceptedNotification } from "./courier.ts";
import type { Difference, FinalPayment } from "./history.ts";

/** The states in which a payment can be after a notification with this status. */
const LATER: Record<string, readonly string[]> = {
  authorize: ["capture", "settlement", "cancel", "deny", "expire", "partial_refund", "refund"],
  capture: ["settlement", "cancel", "partial_refund", "refund"],
  settlement: ["partial_refund", "refund"],
  partial_refund: ["refund"],
};

/** `payments`: as they are before the gateway was asked about them at the end. */
export function findUnstoredNotifications(
  accepted: readonly AcceptedNotification[],
  payments: readonly FinalPayment[],
): Difference[] {
  const byTransaction = new Map(payments.map((payment) => [payment.transactionId, payment]));
  return accepted.flatMap((notification) => {
    const text = findUnstored(notification, byTransaction.get(notification.transactionId));
    if (text === null) return [];
    const rule = "a notification that was answered with 200 is stored";
    return [{ rule, orderId: notification.orderId, text }];
  });
}

function findUnstored(
  { transactionId, status, refundKeys }: AcceptedNotification,
  payment: FinalPayment | undefined,
): string | null {
  if (!payment) return `no payment has transaction ${transactionId}, which is ${status}`;
  const isStored = status === "pending" || payment.status === status ||
    LATER[status]?.includes(payment.status);
  if (!isStored) return `${status} was notified, but the payment is ${payment.status}`;
  const stored = payment.refunds.filter((refund) => refund.status === "succeeded");
  const missing = refundKeys.find((key) => !stored.some((refund) => refund.key === key));
  return missing === undefined ? null : `refund ${missing} was notified`;
}
