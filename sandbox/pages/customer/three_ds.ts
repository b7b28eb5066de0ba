/** `/v2/3ds/redirect/{token}`: the 3-D Secure page of the card's bank. */

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
import { formatRupiah } from "../shared/format.ts";
import { type Markup, readField, render, sameOriginForm } from "../shared/layout.ts";
import { codeField, resultScreen, screen } from "./screens.ts";

/** Explanations for flows without a code. */
const WITHOUT_CODE: Partial<Record<ThreeDsFlow, string>> = {
  frictionless: "Frictionless authentication: the bank asks for no code.",
  attempted: "Attempted authentication: the bank asks for no code for this card.",
  impossible: "The issuing bank rejects every authentication of this card.",
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

  // Flows without a code also need a click: browsers may prefetch pages.
  pages.post("/v2/3ds/redirect/:token", sameOriginForm(world), async (c) => {
    const transaction = find(c.req.param("token"));
    const isFailed = await readField(c, "choice") === "fail";
    const isAuthenticated = !isCodeRequired(transaction) || await readField(c, "otp") === OTP;
    if (isWaitingForThreeDs(transaction)) {
      if (!isFailed && !isAuthenticated) return c.redirect(`${c.req.path}?wrong`, 303);
      finishThreeDs(world, transaction, !isFailed);
      await world.committed();
    }
    return c.redirect(c.req.path, 303);
  });
}

function flowOf(transaction: Transaction): ThreeDsFlow {
  return cardDetails(transaction).behaviour.threeDs;
}

function isCodeRequired(transaction: Transaction): boolean {
  return WITHOUT_CODE[flowOf(transaction)] === undefined;
}

function challenge(transaction: Transaction, isWrong: boolean): Markup {
  const { amount, orderId, details } = transaction;
  return screen({
    brand: "3-D Secure",
    title: isCodeRequired(transaction) ? "Confirm your payment" : "Continue your payment",
    facts: [["Amount", formatRupiah(amount)], ["Card", String(details.masked)], ["Order", orderId]],
    body: html`
      <form method="post">
        ${isCodeRequired(transaction)
          ? codeField("otp", "One-time password", OTP, isWrong)
          : html`<p>${WITHOUT_CODE[flowOf(transaction)]}</p>`}
        <button class="primary" name="choice" value="prove">
          ${isCodeRequired(transaction) ? "Confirm" : "Continue"}
        </button>
        <button name="choice" value="fail" formnovalidate>Fail authentication</button>
      </form>
    `,
  });
}
