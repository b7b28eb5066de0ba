/** The screens where a customer pays or refuses, whichever link of the charge led there. */

import type { Context, Hono } from "hono";
import { cardDetails } from "../../cards/card_details.ts";
import { OTP } from "../../cards/three_ds.ts";
import { isWaitingForThreeDs, letHappen } from "../../control/happenings.ts";
import { Refusal } from "../../http/refusal.ts";
import type { MethodName, Transaction } from "../../transactions/transaction.ts";
import type { OpenWorld } from "../../world/world.ts";
import { ownForm, readField } from "../forms.ts";
import { render } from "../layout.ts";
import { METHOD_NAMES } from "../words.ts";
import { asksPin, payScreen } from "./pay_screen.ts";
import { resultScreen } from "./result_screen.ts";

/** Each app has its own address and opens its own transactions; one address opens them all. */
const PATHS: [path: string, method: MethodName | null][] = [
  ["/pay/:id", null],
  ["/gopay/app/:id", "gopay"],
  ["/shopeepay/app/:id", "shopeepay"],
  ["/dana/app/:id", "dana"],
  ["/v2/akulaku/redirect/:id", "akulaku"],
  ["/v2/oms/redirect/:id", "kredivo"],
];

export function addPay(pages: Hono, world: OpenWorld): void {
  const find = (c: Context, method: MethodName | null): Transaction => {
    const transaction = world.transactions.get(c.req.param("id") ?? "");
    const isHere = transaction && (method === null || transaction.method === method);
    if (!isHere) throw new Refusal(404);
    return transaction;
  };

  for (const [path, method] of PATHS) {
    pages.get(path, (c) => {
      const transaction = find(c, method);
      const token = openThreeDs(transaction);
      if (token) return c.redirect(`/v2/3ds/redirect/${token}`, 302);
      const isOpen = transaction.status === "pending" && transaction.method !== "credit_card";
      return render(c, {
        title: METHOD_NAMES[transaction.method],
        body: isOpen
          ? payScreen(transaction, c.req.query("wrong") !== undefined)
          : resultScreen(transaction),
      });
    });

    pages.post(path, ownForm(world), async (c) => {
      const transaction = find(c, method);
      const choice = await readField(c, "choice");
      const isWrong = choice === "pay" && asksPin(transaction) && await readField(c, "pin") !== OTP;
      if (isWrong) return c.redirect(`${c.req.path}?wrong`, 303);
      const issuer = await readField(c, "issuer");
      // Meanwhile it may have been paid or have expired: the page it returns to says so.
      if (transaction.status === "pending" && transaction.method !== "credit_card") {
        const happening = choice === "deny" ? "deny" : "pay";
        letHappen(world, happening, transaction, { issuer: issuer || null });
        await world.committed();
      }
      return c.redirect(c.req.path, 303);
    });
  }
}

/** Cards have a page of their own, as long as the customer has not been there. */
function openThreeDs(transaction: Transaction): string | null {
  return isWaitingForThreeDs(transaction) ? cardDetails(transaction).threeDs!.token : null;
}
