/** The promise of a checkout: at most one of its attempts can be paid at any moment. */

import assert from "node:assert/strict";
import type { Json, TestSandbox } from "../gateway/sandbox.ts";
import type { Checkout } from "./checkouts.ts";

/**
 * Follows the notifications in the order in which the gateway's transactions have changed, which
 * those of two transactions need not have when they arrive: no transaction of the checkout begins
 * while another can be paid, and at most one is paid.
 */
export async function assertOnePayable(
  { sandbox, control }: TestSandbox,
  { order_id }: Pick<Checkout, "order_id">,
  message = "",
): Promise<void> {
  const own: Json[] = [...sandbox.webhooks()].reverse().map(({ payload }) => payload)
    .filter((body) => body.order_id === order_id || body.order_id?.startsWith(`${order_id}~`));
  const known = await control(`transactions?order_id=${order_id}`, undefined, "GET");
  assert.ok(known.length === 0 || own.length > 0, `${message}: no notification was seen`);
  const payable = new Set<string>();
  const paid = new Set<string>();
  const seen: string[] = [];
  for (const { order_id: name, transaction_id, transaction_status } of own) {
    seen.push(`${name.slice(order_id.length) || "~1"} ${transaction_status}`);
    if (transaction_status === "pending") payable.add(transaction_id);
    else payable.delete(transaction_id);
    if (["capture", "settlement"].includes(transaction_status)) paid.add(transaction_id);
    assert.ok(payable.size <= 1, `${message}: two payable: ${seen.join(", ")}`);
    assert.ok(paid.size <= 1, `${message}: two paid: ${seen.join(", ")}`);
    assert.ok(paid.size + payable.size <= 1, `${message}: payable after paid: ${seen.join(", ")}`);
  }
}
