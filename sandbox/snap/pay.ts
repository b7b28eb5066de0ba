/** What a customer does on a Snap page: pay by card, with Google Pay, or with another method. */

import { cardDetails, finishThreeDs, isWaitingForThreeDs } from "../cards/authorization.ts";
import { createToken } from "../cards/tokens.ts";
import { isOrderIdFree, startTransaction } from "../charges/charge.ts";
import { isOfBin } from "../charges/methods/credit_card.ts";
import { METHODS } from "../charges/methods/methods.ts";
import { statusResponse } from "../charges/responses.ts";
import { MINUTE } from "../engine/time.ts";
import { invalid, Refusal } from "../http/refusal.ts";
import { validate } from "../http/validate.ts";
import { latestOfOrder } from "../transactions/transactions.ts";
import type { Card, SnapPage } from "../world/records.ts";
import type { MethodName, Transaction } from "../world/transaction.ts";
import type { World } from "../world/world.ts";
import { chargeFields, offeredMethods, type OtherMethod, type SnapMethod } from "./methods.ts";
import { findSnapPage, isRetryable, latestOf, type SnapState, snapState } from "./pages.ts";
import { paymentExpiry } from "./request.ts";

/** When a card whose 3-D Secure the customer abandoned expires. */
const THREE_DS_LIFETIME = 15 * MINUTE;

/** Why the customer cannot pay on a page in this state. */
const REASONS: Record<Exclude<SnapState, "open">, string> = {
  in_progress: "A payment on this page is in progress",
  paid: "The order is already paid",
  failed: "The payment was denied, and this page allows no further attempt",
  expired: "This page has expired",
  cancelled: "The merchant cancelled this page",
  replaced: "The merchant replaced this page with a new one",
};

export interface CardEntry {
  /** The number as the customer entered it; empty if a saved card is used. */
  number: string;
  month: string;
  year: string;
  cvv: string;
  /** The token of a saved card; empty if the customer entered a number. */
  savedToken: string;
  /** Whether the customer ticked the box that saves the card. */
  isSaved: boolean;
}

/** Starts a card payment. The transaction then waits for 3-D Secure, or is decided at once. */
export function payByCard(world: World, token: string, entry: CardEntry): Transaction {
  const page = findPayable(world, token, "credit_card");
  const { credit_card, user_id } = page.request;
  if (entry.savedToken && !savedCards(world, page).some(({ id }) => id === entry.savedToken)) {
    throw invalid("The saved card does not exist");
  }
  const isSaved = credit_card?.save_card === true && entry.isSaved && !entry.savedToken;
  const card = tokenize(world, page, {
    card_cvv: entry.cvv,
    ...entry.savedToken ? { token_id: entry.savedToken } : {
      card_number: entry.number,
      card_exp_month: entry.month,
      card_exp_year: entry.year,
    },
  });
  if (isSaved && user_id) world.cards.put({ ...card, userId: user_id });
  return startCard(world, page, card, {
    authentication: credit_card?.secure ?? false,
    save_token_id: isSaved,
  });
}

/** In the gateway's sandbox, Google Pay always returns this card. */
const GOOGLE_PAY_CARD = {
  card_number: "4111111111111111",
  card_exp_month: "12",
  card_exp_year: "2999",
  card_cvv: "123",
};

export function payByGooglePay(world: World, token: string): Transaction {
  const page = findPayable(world, token, "google_pay");
  return startCard(world, page, tokenize(world, page, GOOGLE_PAY_CARD), { authentication: true });
}

/** Starts a payment with a method that the customer finishes elsewhere, such as a bank's app. */
export function payByOther(world: World, token: string, method: OtherMethod): Transaction {
  const page = findPayable(world, token, method);
  return start(world, page, chargeFields(method), paymentExpiry(page, world.clock.now()));
}

/** The page, if it is open, offers the method, and no other transaction uses its order id. */
function findPayable(world: World, token: string, method: SnapMethod): SnapPage {
  const page = findSnapPage(world, token);
  const state = snapState(world, page);
  if (state !== "open") throw new Refusal(409, REASONS[state]);
  if (!offeredMethods(world, page.request).includes(method)) {
    throw invalid("The page does not offer this payment method");
  }
  const latest = latestOfOrder(world, page.orderId);
  const isOwn = latest?.snapToken === page.id && isRetryable(latest);
  if (!isOwn && !isOrderIdFree(world, page.orderId)) {
    throw new Refusal(409, "Another payment uses the order ID of this page");
  }
  return page;
}

/** Exchanges the card's data for a token that is valid for one charge, if the page allows it. */
function tokenize(world: World, { request }: SnapPage, query: Record<string, string>): Card {
  const { token_id } = createToken(world, { client_key: world.merchant.clientKey, ...query });
  const card = world.cards.get(token_id)!;
  const { whitelist_bins, blacklist_bins } = request.credit_card ?? {};
  const isListed = (bins: string[]) => bins.some((bin) => isOfBin(card, bin));
  const isAllowed = !whitelist_bins?.length || isListed(whitelist_bins);
  if (isAllowed && !isListed(blacklist_bins ?? [])) return card;
  world.cards.delete(card.id);
  throw invalid("The merchant does not accept this card");
}

function startCard(
  world: World,
  page: SnapPage,
  card: Card,
  options: { authentication: boolean; save_token_id?: boolean },
): Transaction {
  const { bank, channel, type } = page.request.credit_card ?? {};
  const credit_card = {
    token_id: card.id,
    bank,
    channel,
    type: type === "authorize" ? type : undefined,
    ...options,
  };
  const expiresAt = world.clock.now() + THREE_DS_LIFETIME;
  return start(world, page, { payment_type: "credit_card", credit_card }, expiresAt);
}

function start(
  world: World,
  page: SnapPage,
  fields: { payment_type: MethodName; [name: string]: unknown },
  pendingUntil: number | null,
): Transaction {
  const { item_details, customer_details, metadata, ...request } = page.request;
  const { custom_field1, custom_field2, custom_field3 } = request;
  const method = METHODS[fields.payment_type];
  const charge = validate(method.schema, {
    ...fields,
    transaction_details: { order_id: page.orderId, gross_amount: page.amount },
    ...{ item_details, customer_details, metadata, custom_field1, custom_field2, custom_field3 },
  });
  const options = { notify: page.notify, cause: "snap" as const, snapToken: page.id, pendingUntil };
  return startTransaction(world, method, charge, options).transaction;
}

export type ThreeDsChoice = "success" | "failure" | "abandon";

/** Ends the 3-D Secure of a started card, if it has one. */
export function answerThreeDs(
  world: World,
  transaction: Transaction,
  choice: ThreeDsChoice,
): Transaction {
  if (choice === "abandon" || !isWaitingForThreeDs(transaction)) return transaction;
  return finishThreeDs(world, transaction, choice === "success");
}

/** The cards that the page's customer saved in successful payments, newest first. */
export function savedCards(world: World, { request }: SnapPage): Card[] {
  const { user_id, credit_card } = request;
  if (!user_id || !credit_card?.save_card) return [];
  const cards = [...world.cards.find(`user:${user_id}`)].filter(({ id }) =>
    Iterator.from(world.transactions.find(`saved:${id}`)).some(isApproved)
  );
  return cards.filter(({ masked }, index) =>
    cards.findIndex((other) => other.masked === masked) === index
  );
}

function isApproved({ status }: Transaction): boolean {
  return !["pending", "deny", "failure", "expire"].includes(status);
}

/** Whether the payment waits until the customer pays it elsewhere, such as in a bank's app. */
export function isPaidElsewhere(transaction: Transaction | undefined): boolean {
  return transaction?.status === "pending" && transaction.method !== "credit_card";
}

/** The path of the bank's page on which the customer confirms the card; null if none waits. */
export function threeDsPath(transaction: Transaction | undefined): string | null {
  if (!transaction || !isWaitingForThreeDs(transaction)) return null;
  return `/v2/3ds/redirect/${cardDetails(transaction).threeDs!.token}`;
}

/** The merchant's URL of a kind: the page's own, or the account's. The order id is in its query. */
function merchantUrl(world: World, page: SnapPage, kind: "finish" | "error"): URL | null {
  const { preferences, snap_finish_url_for_cards: appliesToCards } = world.settings;
  const isIgnored = kind === "finish" && !appliesToCards &&
    latestOf(world, page)?.method === "credit_card";
  const own = isIgnored ? null : page.request.callbacks?.[kind];
  const address = own || preferences[`${kind}_payment_return_url`];
  const url = address ? URL.parse(address) : null;
  if (!url || !/^https?:$/.test(url.protocol)) return null;
  url.searchParams.set("order_id", page.orderId);
  return url;
}

/** Where a customer who did not pay can go back to; null if the merchant has no URL. */
export function backUrl(world: World, page: SnapPage): string | null {
  const url = merchantUrl(world, page, "error") ?? merchantUrl(world, page, "finish");
  return url?.href ?? null;
}

/**
 * Where the page sends the customer after the payment, with the result in the query; null if the
 * payment has no result yet, or the merchant has no URL.
 */
export function returnUrl(world: World, page: SnapPage): string | null {
  const state = snapState(world, page);
  const latest = latestOf(world, page);
  if (!latest || threeDsPath(latest) !== null) return null;
  if (!["paid", "failed", "in_progress"].includes(state)) return null;
  const url = merchantUrl(world, page, state === "failed" ? "error" : "finish");
  if (!url) return null;
  const { status_code } = statusResponse(world, latest);
  // The gateway always reports a failure as a denial.
  url.searchParams.set("status_code", state === "failed" ? "202" : status_code);
  url.searchParams.set("transaction_status", state === "failed" ? "deny" : latest.status);
  return url.href;
}
