/**
 * Recognizes the transaction of a charge whose payment this database has lost, for example because
 * it was restored from a backup. See docs/production.md, "Backup".
 */

import { findPayment } from "../../db/payments/statements.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import type { Transaction } from "../gateway/responses.ts";
import { parseTransactionTime } from "../gateway/times.ts";
import { keyLifetimeMs } from "../idempotency/keys.ts";
import { matchTransaction } from "./match_transaction.ts";
import type { PaymentDeps } from "./payment_record.ts";
import { isExpired, isFailed, isStatus } from "./states.ts";

/**
 * Whether a caller's retry of a lost charge is the explanation for a transaction with the order id
 * of a new payment: it agrees with the charge in everything but the time, it is not older than the
 * caller's key can be, and no payment of this database has created it.
 */
export async function isLostCharge(
  deps: PaymentDeps,
  payment: GatewayPayment,
  found: Transaction,
): Promise<boolean> {
  const createdAt = parseTransactionTime(found.transaction_time);
  if (!createdAt || createdAt.getTime() < deps.clock() - keyLifetimeMs(deps)) return false;
  const { payment_ref, ...metadata } = found.metadata ?? {};
  if (await isPaymentKnown(deps, payment_ref)) return false;
  // Compared as if the charge had been sent when the transaction was created.
  const lost = { ...payment, created_at: createdAt, sent_at: createdAt };
  const { kind } = await matchTransaction(deps, lost, { ...found, metadata });
  if (kind !== "ours") return false;
  deps.log.info("lost_charge_taken_over", { payment_id: payment.id });
  return true;
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function isPaymentKnown({ database }: PaymentDeps, reference: unknown): Promise<boolean> {
  if (typeof reference !== "string" || !ID.test(reference)) return false;
  return await database.query((sql) => findPayment(sql, reference), "find payment") !== null;
}

/** Whether the customer may have paid the transaction, or can still pay it. */
export function mayBePaid({ transaction_status: status }: Transaction): boolean {
  return !isStatus(status) ||
    !(isFailed({ status, fraud: null }) || isExpired({ status, fraud: null }));
}
