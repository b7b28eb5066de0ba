/** What a signature says, and what it could be made to say. */

/** As the gateway signs them (G§4.1). */
const CODES = new Set(["200", "201", "202", "407"]);

const AMOUNT = /^[1-9]\d{0,12}\.\d\d$/;

/**
 * Order, code and amount are signed as one text, with nothing in between: `A` + `200` + `12005.00`
 * is also `A2001` + `200` + `5.00`. Who chooses order ids well could have the signature of one order
 * speak for another. True: the text could be that of another order, so that the signature alone
 * proves nothing.
 */
export function hasOtherReading(orderId: string, statusCode: string, grossAmount: string): boolean {
  const text = orderId + statusCode + grossAmount;
  const longest = 13 + ".00".length;
  for (let at = Math.max(1, text.length - longest - 3); at < text.length - 3; at++) {
    if (at === orderId.length || !CODES.has(text.slice(at, at + 3))) continue;
    if (AMOUNT.test(text.slice(at + 3))) return true;
  }
  return false;
}
