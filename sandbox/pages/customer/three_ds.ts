/** `/v2/3ds/redirect/{token}`: the 3-D Secure page of the card's bank. */

import type { Context, Hono } from "hono";
import { html } from "hono/html";
import {
  cardDetails,
  findByRedirectToken,
  finishThreeDs,
  isWaitingForThreeDs,
  OTP,
} from "../../cards/authorization.ts";
import { statusResponse } from "../../charges/responses.ts";
import { Refusal } from "../../http/refusal.ts";
import { snapResultPath } from "../../snap/pages.ts";
import type { ThreeDsFlow } from "../../world/records.ts";
import type { Transaction } from "../../world/transaction.ts";
import type { OpenWorld, World } from "../../world/world.ts";
import { formatRupiah } from "../shared/format.ts";
import { type Markup, readField, render, safeUrl, sameOriginForm } from "../shared/layout.ts";
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
    const page = { title: "3-D Secure", canBeFramed: true };
    if (isWaitingForThreeDs(transaction)) {
      const body = challenge(transaction, c.req.query("wrong") !== undefined);
      return render(c, { ...page, body });
    }
    if (transaction.snapToken) return c.redirect(snapResultPath(transaction.snapToken), 302);
    const callbackUrl = safeUrl(c.req.query("callback_url"));
    return render(c, {
      ...page,
      script: "three_ds",
      formTarget: callbackUrl?.origin,
      body: html`
        ${resultScreen(transaction)}
        ${report(world, transaction, callbackUrl)}
      `,
    });
  });

  // Flows without a code also need a click: browsers may prefetch pages.
  pages.post("/v2/3ds/redirect/:token", sameOriginForm(world), async (c) => {
    const transaction = find(c.req.param("token"));
    const isFailed = await readField(c, "choice") === "fail";
    const isAuthenticated = !isCodeRequired(transaction) || await readField(c, "otp") === OTP;
    if (isWaitingForThreeDs(transaction)) {
      if (!isFailed && !isAuthenticated) return c.redirect(pathWith(c, { wrong: "" }), 303);
      finishThreeDs(world, transaction, !isFailed);
      await world.committed();
    }
    const { snapToken } = transaction;
    return c.redirect(snapToken ? snapResultPath(snapToken) : pathWith(c), 303);
  });
}

/** The path of this page with the merchant's callback URL, if there is one. */
function pathWith(c: Context, more: Record<string, string> = {}): string {
  const callback_url = c.req.query("callback_url");
  const query = new URLSearchParams({ ...callback_url && { callback_url }, ...more });
  return query.size > 0 ? `${c.req.path}?${query}` : c.req.path;
}

/** The result for the merchant's page, and the form that returns to the merchant. */
function report(world: World, transaction: Transaction, callbackUrl: URL | null): Markup {
  const { signature_key: _signature, ...response } = statusResponse(world, transaction);
  const { token } = cardDetails(transaction).threeDs!;
  const redirectUrl = `${world.publicUrl()}/v2/3ds/redirect/${token}`;
  return html`
    <div id="three-ds-result" data-message="${JSON.stringify({ redirectUrl, response })}"></div>
    ${callbackUrl && html`
      <form id="return-form" method="post" action="${callbackUrl.href}">
        <input type="hidden" name="response" value="${JSON.stringify(response)}">
        <button class="primary">Return to the merchant</button>
      </form>
    `}
  `;
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
