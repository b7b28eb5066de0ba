/** Adopts transactions that were created outside the service, such as those of payment links. */

import { batched } from "../../db/records/batched.ts";
import { paymentLookups } from "../../db/payments/statements.ts";
import { adoptPayment } from "../../db/writing/payment_writes.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import type { NewHistory } from "../../db/records/records.ts";
import type { Transaction } from "../gateway/responses.ts";
import { actorOfChange, buildWrite, dispatchAfterCommit } from "../records/change.ts";
import type { Service } from "../service.ts";
import { type NewPayment, newPayment } from "./new_payment.ts";
import {
  type AppliedReport,
  applyReport,
  firstChange,
  type GatewayReport,
  type Source,
} from "./apply_report.ts";
import { checkAtGateway } from "./check_at_gateway.ts";
import { changePayment, paymentKind } from "./payment_record.ts";
import { isStatus } from "./states.ts";
import { amountOf } from "./transaction.ts";

/** The record that an adopted payment belongs to, and its owner. */
export interface Link {
  user_id: string;
  invoice_id: string | null;
  subscription_id: string | null;
  checkout_id: string | null;
  /** What a new payment copies from the record. */
  details?: Partial<NewPayment>;
}

/** Whether a response contains all values for a new payment. The status may be unrecognized. */
export function isComplete(answer: Transaction): boolean {
  return answer.order_id !== null && answer.transaction_id !== null &&
    Boolean(answer.transaction_status) && (amountOf(answer) ?? NaN) > 0;
}

/** Whether a payment can be created: the response is complete, and the service knows the status. */
export function canAdopt(answer: Transaction): boolean {
  return isComplete(answer) && isStatus(answer.transaction_status);
}

/**
 * Creates a payment for the transaction, or applies the report to the existing payment. Without a
 * link, a new payment has no owner, so only staff and viewers can see it.
 */
export async function adoptTransaction(
  service: Service,
  report: Omit<GatewayReport, "askedAtVersion">,
  link: Link | null,
): Promise<AppliedReport> {
  const { order_id, transaction_id } = report.answer;
  const adopted = await insertAdopted(service, { ...report, askedAtVersion: null }, link);
  if (adopted) return adopted;
  const reference = { order_id: order_id!, transaction_id, payment_ref: null };
  const known = await batched(service.database, paymentLookups, reference);
  if (!known) throw new Error(`The payment of order ${order_id} no longer exists`);
  const applied = await applyOrCheck(service, known, report);
  return link
    ? { ...applied, payment: await linkPayment(service, applied.payment, link) }
    : applied;
}

/** The payment that would be created for a transaction for which `canAdopt` is true. */
export function previewAdopted(service: Service, answer: Transaction): GatewayPayment {
  const now = new Date(service.clock());
  const payment = adoptedPayment(answer, now);
  const report = { answer, source: "check_status", askedAtVersion: payment.version } as const;
  return buildWrite(service, paymentKind, payment, firstChange(payment, report, now)).record;
}

/** Null: the transaction already has a payment. */
async function insertAdopted(
  service: Service,
  report: GatewayReport,
  link: Link | null,
): Promise<AppliedReport | null> {
  const now = new Date(service.clock());
  const { details, ...owner } = link ?? {};
  const payment = { ...adoptedPayment(report.answer, now, details), ...owner };
  // Nothing has changed the payment since the response, so its totals count, too.
  const latest = { ...report, askedAtVersion: payment.version };
  const write = buildWrite(service, paymentKind, payment, firstChange(payment, latest, now));
  const actor = actorOfChange(service, report.source, report.notification?.id);
  const history = [creationHistory(payment, report.source, actor), ...write.history];
  const result = await service.database.query(
    (sql) => adoptPayment(sql, { ...write, history }),
    "adopt payment",
  );
  if (!result.isWritten) return null;
  dispatchAfterCommit(service, write, result);
  const [notification] = write.notifications;
  return {
    payment: write.record,
    step: "forward",
    notification,
    isNotificationWritten: notification !== undefined,
    isOutdated: false,
  };
}

/** Expects a response with an order id, a transaction id and an amount (`canAdopt`). */
function adoptedPayment(
  answer: Transaction,
  now: Date,
  details: Link["details"] = {},
): GatewayPayment {
  const input = {
    order_id: answer.order_id!,
    gross_amount: amountOf(answer)!,
    payment_type: answer.payment_type ?? "unknown",
    authorize: answer.transaction_status === "authorize",
    metadata: answer.metadata ?? undefined,
  };
  const payment = newPayment({ ...input, ...details }, null, now);
  return {
    ...payment,
    currency: answer.currency ?? "IDR",
    custom_field1: answer.custom_field1 ?? payment.custom_field1,
    custom_field2: answer.custom_field2 ?? payment.custom_field2,
    custom_field3: answer.custom_field3 ?? payment.custom_field3,
  };
}

function creationHistory(payment: GatewayPayment, source: Source, actor: string): NewHistory {
  return {
    resource: "payment",
    resource_id: payment.id,
    from_status: null,
    to_status: payment.transaction_status,
    fraud_status: null,
    source,
    actor,
    created_at: payment.created_at,
  };
}

/**
 * A stale report may say that an ended payment was paid after all. Only a status response proves
 * that, so the payment is checked.
 */
async function applyOrCheck(
  service: Service,
  known: GatewayPayment,
  report: Omit<GatewayReport, "askedAtVersion">,
): Promise<AppliedReport> {
  const applied = await applyReport(service, known, { ...report, askedAtVersion: null });
  if (applied.step !== "stale") return applied;
  const { source, notification } = report;
  return (await checkAtGateway(service, applied.payment, source, notification)).applied ?? applied;
}

/** Links a payment that has no owner. A payment with an owner stays unchanged. */
async function linkPayment(
  service: Service,
  known: GatewayPayment,
  link: Link,
): Promise<GatewayPayment> {
  return await changePayment(
    service,
    known,
    (current) => {
      if (current.user_id !== null) return null;
      const { details: _, ...owner } = link;
      const { user_id } = owner;
      return { set: owner, refunds: current.refunds.map((each) => ({ ...each, user_id })) };
    },
  );
}
