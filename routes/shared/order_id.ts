/** `order_id`: a caller's number of an order. */

import { text } from "./fields.ts";

export function orderId(most: number) {
  // A dot or two alone would be another path where the gateway is asked for the order.
  return text(most).regex(
    /^(?!\.{1,2}$)[A-Za-z0-9_~.-]+$/,
    "must be made of letters, digits, - _ ~ and ., and not of dots alone",
  );
}
