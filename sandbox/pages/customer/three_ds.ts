/** `/v2/3ds/redirect/{token}`: the card's bank wants to know whether it is really you. */

import type { Hono } from "hono";
import { html } from "hono/html";
import {
  cardDetails,
  findByRedirectToken,
  finishThreeDs,
  isWaitingForThreeDs,
  OTP,
} from "../../cards/authorization.ts";
import { Refusal } from "../../http/refusal.ts";
import type { ThreeDsFlow } from "../../world/records.ts";
import type { Transaction } from "../../world/transaction.ts";
import type { OpenWorld } from "../../world/world.ts";
import { rupiah } from "../shared/format.ts";
import { type Markup, ownForm, readField, render } from "../shared/layout.ts";
import { codeField, resultScreen, screen } from "./screens.ts";

/** What the page says of cards whose holder has nothing to type. */
const WITHOUT_CODE: Partial<Record<ThreeDsFlow, string>> = {
  frictionless: "This bank knows its customer: there is nothing to type.",
  attempted: "This bank takes part in 3-D Secure, but asks nothing for this card.",
  impossible: "This card’s bank refuses to authenticate, whatever its holder does.",
};

export function addThreeDs(pages: Hono, world: OpenWorld): void {
  const find = (token: string): Transaction => {
    const transaction = findByRedirectToken(world, token);
    if (!transaction) throw new Refusal(404);
    return transaction;
  };

  pages.get("/v2/3ds/redirect/:token", (c) => {
    const transaction = find(c.req.param("token"));
    const isWrong = c.req.query("wrong") !== undefined;
    const body = isWaitingForThreeDs(transaction)
      ? challenge(transaction, isWrong)
      : resultScreen(transaction);
    return render(c, { title: "3-D Secure", body });
  });

  // Even what needs no typing happens on a press: browsers fetch pages ahead of their user.
  pages.post("/v2/3ds/redirect/:token", ownForm(world), async (c) => {
    const transaction = find(c.req.param("token"));
    const isFailed = await readField(c, "choice") === "fail";
    const isProven = !asksCode(transaction) || await readField(c, "otp") === OTP;
    if (isWaitingForThreeDs(transaction)) {
      if (!isFailed && !isProven) return c.redirect(`${c.req.path}?wrong`, 303);
      finishThreeDs(world, transaction, !isFailed);
      await world.committed();
    }
    return c.redirect(c.req.path, 303);
  });
}

function flowOf(transaction: Transaction): ThreeDsFlow {
  return cardDetails(transaction).behaviour.threeDs;
}

function asksCode(transaction: Transaction): boolean {
  return WITHOUT_CODE[flowOf(transaction)] === undefined;
}

function challenge(transaction: Transaction, isWrong: boolean): Markup {
  const { amount, orderId, details } = transaction;
  return screen({
    brand: "3-D Secure",
    title: asksCode(transaction) ? "Is it you?" : "One moment",
    facts: [["Amount", rupiah(amount)], ["Card", String(details.masked)], ["Order", orderId]],
    body: html`
      <form method="post">
        ${asksCode(transaction)
          ? codeField("otp", "One-time password", OTP, isWrong)
          : html`<p>${WITHOUT_CODE[flowOf(transaction)]}</p>`}
        <button class="primary" name="choice" value="prove">
          ${asksCode(transaction) ? "Confirm" : "Continue"}
        </button>
        <button name="choice" value="fail" formnovalidate>Fail the authentication</button>
      </form>
    `,
  });
}
