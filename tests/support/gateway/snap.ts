/** Snap pages in tests of the sandbox. */

import assert from "node:assert/strict";
import { AMOUNT, type Json, merge, type TestSandbox } from "./sandbox.ts";

export const SNAP_PATH = "/snap/v1/transactions";

/** Cards with 3-D Secure that the bank accepts and denies. */
export const CARDS = { accepted: "4811111111111114", denied: "4911111111111113" };

export function snapRequest(order_id: string, more: Json = {}): Json {
  return merge({
    transaction_details: { order_id, gross_amount: AMOUNT },
    enabled_payments: ["credit_card"],
    credit_card: { secure: true },
  }, more);
}

/** Creates a page and returns its token. */
export async function openPage(box: TestSandbox, order_id: string, more: Json = {}) {
  const { http, body } = await box.call("POST", SNAP_PATH, snapRequest(order_id, more));
  assert.equal(http, 201, JSON.stringify(body));
  return body.token as string;
}

/** Pays as the customer; the call must succeed, but the card may be denied. */
export function pay(box: TestSandbox, token: string, more: Json = {}): Promise<Json> {
  return box.control(`snap/${token}/pay`, { card_number: CARDS.accepted, ...more });
}

export function pageOf(box: TestSandbox, token: string): Promise<Json> {
  return box.control(`snap/${token}`, undefined, "GET");
}

/** Enters a card on a Snap page in a browser, or in a frame, and sends it. */
export async function enterCard(place: Json, number: string): Promise<void> {
  await place.getByLabel("Card number").fill(number);
  await place.getByLabel("Expiry date").fill("12/40");
  await place.getByLabel("CVV").fill("123");
  await place.getByRole("button", { name: /^Pay Rp/ }).click();
}

/** Confirms a card on the bank's 3-D Secure place. */
export async function confirmCode(place: Json): Promise<void> {
  await place.getByLabel("One-time password").fill("112233");
  await place.getByRole("button", { name: "Confirm", exact: true }).click();
}
