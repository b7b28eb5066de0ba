/** Finds the checkout that a card transaction was made for. */

import { findCheckoutOfOrder, type GatewayCheckout } from "../../db/billing/checkouts.ts";
import type { Transaction } from "../gateway/responses.ts";
import type { Link } from "../payments/adopt.ts";
import type { CustomerInput, ItemInput } from "../payments/charge_input.ts";
import type { NewPayment } from "../payments/new_payment.ts";
import { amountOf } from "../payments/transaction.ts";
import type { Service } from "../service.ts";
import { isCardAttempt } from "./states.ts";

/** Null: it is not a transaction of an attempt with a card. */
export async function findCheckoutLink(
  { database }: Service,
  answer: Transaction,
): Promise<Link | null> {
  const { order_id, payment_type } = answer;
  if (order_id === null || payment_type !== "credit_card") return null;
  const checkout = await database.query(
    (sql) => findCheckoutOfOrder(sql, order_id),
    "find checkout of order",
  );
  return checkout && linkToCheckout(checkout, answer);
}

/**
 * The gateway's page creates the transaction, so nothing in it names the checkout but the order id,
 * which the checkout has reserved. Null: its type is another, or it is about less money.
 */
export function linkToCheckout(checkout: GatewayCheckout, answer: Transaction): Link | null {
  const attempt = checkout.attempts.find(({ order_id }) => order_id === answer.order_id);
  const isOurs = attempt !== undefined && isCardAttempt(attempt) &&
    answer.payment_type === "credit_card" &&
    // It may include a fee that the customer paid.
    (amountOf(answer) ?? NaN) >= checkout.gross_amount &&
    (answer.currency ?? checkout.currency) === checkout.currency;
  if (!isOurs) return null;
  const { id, user_id } = checkout;
  return {
    user_id,
    invoice_id: null,
    subscription_id: null,
    checkout_id: id,
    details: detailsOf(checkout),
  };
}

/** What other payments copy from the request of their charge. */
function detailsOf(checkout: GatewayCheckout): Partial<NewPayment> {
  const { gross_amount, customer_details, item_details, metadata, custom_fields } = checkout;
  return {
    gross_amount,
    customer_details: customer_details as CustomerInput ?? undefined,
    item_details: item_details as ItemInput[] ?? undefined,
    metadata: metadata ?? undefined,
    custom_fields: custom_fields ?? undefined,
  };
}
