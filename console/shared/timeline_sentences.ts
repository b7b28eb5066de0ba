/** What happened to a resource, in sentences that a person can read out. */

import type {
  TimelineAndPayments,
  TimelineEntry,
  TimelinePayment,
  TimelineView,
} from "../../core/reports/timelines.ts";
import { formatMoney } from "../../core/money.ts";
import { bankName, BRANDS, jakartaTime, methodName, paymentStatusName, rupiah } from "./format.ts";
import type { View } from "./session.ts";

export interface Sentence {
  at: string;
  text: string;
}

type Transition = NonNullable<TimelineEntry["transition"]>;

/** Oldest first. Entries that only repeat another one have no sentence. */
export function sentencesOf(view: View, { timeline, payments }: TimelineAndPayments): Sentence[] {
  const byId = new Map(payments.map((payment) => [payment.id, payment]));
  const isRefundListed = (paymentId: string | null) =>
    timeline.entries.some((each) => each.refund !== null && each.payment_id === paymentId);
  const causedTransition = (notificationId: string) =>
    timeline.entries.some((each) => each.transition?.actor === `notification:${notificationId}`);
  const sentences = timeline.entries.flatMap((entry): Sentence[] => {
    const { at, transition, refund, notification, event, payment_id } = entry;
    const payment = payment_id === null ? undefined : byId.get(payment_id);
    if (refund) return [{ at, text: refundSentence(view, refund) }];
    if (event) return event.deliveries.map((each) => deliverySentence(view, at, each));
    if (notification) {
      const text = causedTransition(notification.id)
        ? null
        : notificationSentence(view, notification);
      return text === null ? [] : [{ at, text }];
    }
    if (!payment) return [{ at, text: recordSentence(view, timeline.resource, transition!) }];
    const isRefund = /refund$/.test(transition!.to_status);
    if (isRefund && isRefundListed(payment.id)) return [];
    return [{ at, text: paymentSentence(view, payment, transition!) }];
  });
  return sentences.sort((a, b) => a.at < b.at ? -1 : a.at > b.at ? 1 : 0);
}

/** The first part, and then the remarks that there are. */
function withRemarks(text: string, ...remarks: (string | null)[]): string {
  return [text, ...remarks].filter((part) => part !== null && part !== "").join(" · ");
}

/** "by" and the name of the caller who did it; `text` alone if no caller did. */
function by({ words }: View, text: string, name: string | null): string {
  return name === null ? text : `${text} ${words.timeline.by(name)}`;
}

function paymentSentence(view: View, payment: TimelinePayment, transition: Transition): string {
  const words = view.words.timeline;
  const { from_status: from, to_status: to, source, actor, actor_name } = transition;
  const method = methodInSentence(view, payment);
  if (from === null) {
    const amount = rupiah(formatMoney(payment.gross_amount));
    if (actor?.startsWith("checkout:")) return words.chosen(method);
    if (source !== "charge") return words.found(amount, method);
    return by(view, words.created(amount, method), actor_name);
  }
  if (source === "deny") return by(view, words.rejected, actor_name);
  if (to === "authorize" || to === "capture" || to === "settlement") {
    return paidSentence(view, payment, transition);
  }
  const doneBy = (text: string) => by(view, text, actor_name);
  switch (to) {
    case "deny":
      return from === "settlement" ? words.reversed : words.declined;
    case "cancel":
      if (actor?.startsWith("checkout:")) return words.cancelledByCustomer;
      return source === "cancel" ? doneBy(words.cancelled) : words.cancelled;
    case "expire":
      return source === "expire" ? doneBy(words.expiredEarly) : words.expired;
    case "failure":
      return words.failed;
    case "refund":
      return words.refunded;
    case "partial_refund":
      return words.partlyRefunded;
    case "chargeback":
      return words.chargedBack;
    case "partial_chargeback":
      return words.partlyChargedBack;
    default:
      return words.changed(paymentStatusName(view.words, to));
  }
}

function paidSentence(view: View, payment: TimelinePayment, transition: Transition): string {
  const words = view.words.timeline;
  const { from_status: from, to_status: to, fraud_status, source, actor_name } = transition;
  if (source === "approve") return by(view, words.approved, actor_name);
  if (source === "capture") return by(view, words.captured, actor_name);
  if (to !== "settlement" && fraud_status === "challenge") return words.challenged;
  if (to === "authorize") return words.authorized;
  if (from === "capture") return to === "capture" ? words.approved : words.settled;
  if (from === "authorize") return words.captured;
  return payment.store === null
    ? words.paid(methodInSentence(view, payment))
    : words.paidAt(BRANDS[payment.store] ?? payment.store);
}

function methodInSentence({ words }: View, { payment_type, bank, store }: TimelinePayment): string {
  if (store !== null) return BRANDS[store] ?? store;
  if (payment_type === "bank_transfer" && bank !== null) {
    return words.timeline.virtualAccountOf(bankName(bank));
  }
  return (words.timeline.methods as Record<string, string>)[payment_type] ??
    methodName(words, payment_type, bank);
}

/** A transition of an invoice, a checkout or a subscription. */
function recordSentence(
  view: View,
  resource: TimelineView["resource"],
  { from_status, to_status, actor_name, actor }: Transition,
): string {
  const words = view.words.timeline;
  const isCheckoutCreated = resource === "checkout" && from_status === null;
  const texts: Record<string, string> = resource === "payment" ? {} : words[resource];
  const text = isCheckoutCreated ? words.checkoutCreated : texts[to_status];
  // The gateway's answer to the creation follows it at once, and has the same actor.
  const isAnswer = from_status === "pending" && actor !== null;
  return by(view, text ?? words.changed(to_status), isAnswer ? null : actor_name);
}

function refundSentence(view: View, refund: NonNullable<TimelineEntry["refund"]>): string {
  const { words } = view;
  const { amount, reason, status, status_message, created_by, created_by_name } = refund;
  const text = by(view, words.timeline.refund(rupiah(amount)), created_by_name);
  const result = status === "succeeded" ? null : words.refundStatuses[status];
  const hasFailed = status === "denied" || status === "failed";
  return withRemarks(
    text,
    reason,
    created_by === null ? words.timeline.refundElsewhere : null,
    result,
    hasFailed ? status_message : null,
  );
}

/** Only what needs attention: the others are applied, or report nothing new. */
function notificationSentence(
  { words }: View,
  { transaction_status, status, error_message }: NonNullable<TimelineEntry["notification"]>,
): string | null {
  if (status === "processed" || status === "duplicate" || status === "stale") return null;
  return withRemarks(
    words.timeline.notified(paymentStatusName(words, transaction_status)),
    words.notificationsPage.statuses[status],
    error_message && words.message(error_message),
  );
}

type Delivery = NonNullable<TimelineEntry["event"]>["deliveries"][number];

function deliverySentence(view: View, eventAt: string, delivery: Delivery): Sentence {
  const { words } = view;
  const { delivered_at, last_attempt_at, next_attempt_at, status, attempts } = delivery;
  const host = delivery.endpoint_host ?? words.endpoint;
  if (status === "delivered") {
    return { at: delivered_at ?? eventAt, text: words.timeline.delivered(host) };
  }
  if (attempts === 0) return { at: eventAt, text: words.timeline.waiting(host) };
  const { status_code, error } = delivery;
  const answer = status_code === null ? error && words.message(error) : String(status_code);
  const next = next_attempt_at &&
    words.timeline.nextAttempt(jakartaTime(next_attempt_at, words.locale, "medium"));
  return {
    at: last_attempt_at ?? eventAt,
    text: withRemarks(words.timeline.undelivered(host), answer, next),
  };
}
