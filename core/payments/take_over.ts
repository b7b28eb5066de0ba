/**
 * Moves a transaction from an adopted payment without an owner to the payment whose charge created
 * it. A transaction is adopted too early if the service could not tell that the charge created it.
 */

import type { Sql } from "../../db/connection/database.ts";
import { findPayment, findPaymentOfTransaction } from "../../db/payments/statements.ts";
import { lockPayments, moveRowsOfPayment, paymentWrites } from "../../db/writing/payment_writes.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import { buildWrite, dispatchAfterCommit } from "../records/change.ts";
import { buildRelease, buildTakeOver, type Source } from "./decide_change.ts";
import { type PaymentDeps, paymentKind } from "./payment_record.ts";

/**
 * Returns the payment with the transaction, in the state of the adopted payment, and with its
 * refunds and notifications. Null: the transaction belongs to another payment.
 */
export async function takeOverTransaction(
  deps: PaymentDeps,
  { id }: GatewayPayment,
  transactionId: string,
  source: Source,
): Promise<GatewayPayment | null> {
  const written = await deps.database.transaction(async (sql) => {
    const pair = await lockPair(sql, id, transactionId);
    if (!pair) return null;
    const { owner, adopted } = pair;
    // The release comes first: no two payments can have the same transaction id.
    const changes = [
      { current: adopted, change: buildRelease(owner, source) },
      { current: owner, change: buildTakeOver(owner, adopted, source) },
    ];
    const writes = changes.map(({ current, change }) =>
      buildWrite(deps, paymentKind, current, change)
    );
    await moveRowsOfPayment(sql, adopted, owner);
    const results = [];
    for (const write of writes) {
      results.push({ write, ...(await paymentWrites.run(sql, [write]))[0]! });
    }
    return { results, payment: await findPayment(sql, id) };
  }, "take over transaction");
  for (const { write, ...result } of written?.results ?? []) {
    dispatchAfterCommit(deps, write, result);
  }
  if (written) deps.log.info("transaction_taken_over", { payment_id: id });
  return written?.payment ?? null;
}

/** Null: the transaction cannot move to this payment. */
async function lockPair(
  sql: Sql,
  id: string,
  transactionId: string,
): Promise<{ owner: GatewayPayment; adopted: GatewayPayment } | null> {
  const holder = await findPaymentOfTransaction(sql, transactionId);
  if (!holder || holder.id === id || holder.user_id !== null) return null;
  await lockPayments(sql, [id, holder.id]);
  const owner = await findPayment(sql, id);
  const adopted = await findPayment(sql, holder.id);
  // Both may have changed before they were locked.
  const canMove = owner && adopted && owner.transaction_id === null && !owner.is_refused &&
    adopted.transaction_id === transactionId && adopted.user_id === null &&
    adopted.order_id === owner.order_id;
  return canMove ? { owner, adopted } : null;
}
