/** The attempts of a checkout, which are written together with it. */

import { fixed, mutable, type RowOf } from "./columns.ts";

export const ATTEMPT_COLUMNS = {
  id: fixed<string>(),
  checkout_id: fixed<string>(),
  /** 1, 2, 3, … for each checkout. */
  number: fixed<number>(),
  method: fixed<string>(),
  /** Its payments have this order id. */
  order_id: fixed<string>(),
  /** The gateway has to close it: the customer chose another method, or the checkout ended. */
  is_closing: mutable<boolean>(),
  /** When it could no longer be paid for certain; null: it may be payable. */
  closed_at: mutable<Date | null>(),
  /** How it ended: `paid`, or the last status of its payment; null: open, or without a payment. */
  result: mutable<string | null>(),
  created_at: fixed<Date>(),
  /** The gateway's page for cards: its token and address, encrypted; null: not opened yet. */
  page: mutable<string | null>(null),
  /** When an instance began to open the page; null: none has. */
  page_requested_at: mutable<Date | null>(null),
  /** When the page has certainly ended: a minute after its time at the gateway; null: no page. */
  page_ends_at: mutable<Date | null>(null),
  /** When the gateway was last asked for the transactions of the page. */
  page_checked_at: mutable<Date | null>(null),
  /** Whether the gateway has confirmed that the page can no longer be used. */
  is_page_closed: mutable<boolean>(false),
};

export interface CheckoutAttempt extends RowOf<typeof ATTEMPT_COLUMNS> {}
