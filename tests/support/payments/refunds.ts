/** Helpers that send refunds, read them and compare them with the gateway's. */

import type { z } from "@hono/zod-openapi";
import assert from "node:assert/strict";
import { RefundedSchema } from "../../../routes/payments/actions.ts";
import { nameOf, type RelayedPayments } from "../gateway/relay.ts";
import type { Json } from "../gateway/sandbox.ts";
import type { Payment } from "./payments.ts";

export const REFUND = "POST /v2/:id/refund";
export const DIRECT_REFUND = "POST /v2/:id/refund/online/direct";

export function refund(
  { post }: RelayedPayments,
  { id }: Pick<Payment, "id">,
  body?: Json,
  headers: HeadersInit = {},
): Promise<Response> {
  return post(`/payments/${id}/refund/`, body, headers);
}

export async function parseRefunded(response: Response): Promise<z.output<typeof RefundedSchema>> {
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return RefundedSchema.parse(JSON.parse(text));
}

/** Asserts that the stored refunds, their sum and the status equal the gateway's. */
export async function assertRefundsMatchGateway(
  payments: RelayedPayments,
  id: string,
): Promise<Payment> {
  const payment = await payments.read(id);
  const transaction = await payments.sandbox.status(payment.transaction_id!);
  const succeeded = payment.refunds.filter(({ status }) => status === "succeeded");
  assert.deepEqual(
    succeeded.map(({ refund_key }) => refund_key).sort(),
    (transaction.refunds ?? []).map((each: Json) => each.refund_key).sort(),
  );
  assert.equal(payment.refund_amount, transaction.refund_amount ?? "0.00");
  assert.equal(payment.transaction_status, transaction.transaction_status);
  return payment;
}

/** The refund keys sent to the gateway, in order, except those of direct refunds. */
export function refundKeysSent({ relay }: RelayedPayments): string[] {
  return relay.received.filter((each) => nameOf(each) === REFUND)
    .map(({ body }) => JSON.parse(body).refund_key);
}
