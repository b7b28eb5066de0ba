/** Card tokens and lookups: `/v2/token`, `/v2/card/register`, `/v2/point_inquiry`, `/v1/bins`. */

import { formatWib, MINUTE } from "../engine/time.ts";
import { invalid, Refusal } from "../http/refusal.ts";
import type { Card } from "../world/records.ts";
import type { World } from "../world/world.ts";
import { bankOfBin, behaviourOf, brandOf, passesLuhn } from "./test_cards.ts";

/** The gateway does not document the lifetime of a token. This is long enough for a checkout. */
const TOKEN_LIFETIME = 15 * MINUTE;

type Query = Record<string, string | undefined>;

export function createToken(world: World, query: Query) {
  checkClientKey(world, query);
  const card = query.token_id ? findSaved(world, query) : readCard(world, query, true);
  const token = world.cards.put({
    ...card,
    id: `${card.masked}-${world.random.uuid()}`,
    isSaved: false,
    expiresAt: world.clock.now() + TOKEN_LIFETIME,
  });
  return {
    status_code: "200",
    status_message: "Credit card token is created as Token ID.",
    token_id: token.id,
    hash: `${card.masked}-mami`,
  };
}

export function registerCard(world: World, query: Query) {
  checkClientKey(world, query);
  const saved = saveCard(world, readCard(world, query, false));
  return {
    status_code: "200",
    saved_token_id: saved.id,
    transaction_id: world.random.uuid(),
    masked_card: saved.masked,
  };
}

export function inquirePoints(world: World, tokenId: string) {
  const card = world.cards.get(tokenId);
  if (!card) throw new Refusal(411);
  if (!card.behaviour.hasPoints) {
    throw new Refusal(402, "Merchant doesn't have access for this payment type");
  }
  return {
    status_code: "200",
    status_message: "Success, Credit Card Point inquiry is successful",
    transaction_time: formatWib(world.clock.now()),
    point_balance_amount: "10000.00",
  };
}

/** Null if the BIN is unknown. */
export function describeBin(bin: string) {
  if (!/^\d{6,8}$/.test(bin) || !/^[2-5]/.test(bin)) return null;
  const bank = bankOfBin(bin);
  return {
    country_name: "INDONESIA",
    country_code: "ID",
    brand: brandOf(bin).toUpperCase(),
    bin_type: "CREDIT",
    bin_class: "GOLD",
    bin,
    bank_code: bank?.toUpperCase() ?? "OTHER",
    bank: bank ? `BANK ${bank.toUpperCase()}` : "OTHER",
    channel: "online_offline",
    registration_required: false,
  };
}

function checkClientKey(world: World, query: Query): void {
  if (query.client_key === world.merchant.clientKey) return;
  throw new Refusal(401, "Transaction cannot be authorized with the current client/server key.");
}

type CardFacts = Pick<Card, "id" | "masked" | "brand" | "behaviour" | "isSaved" | "expiresAt">;

/** Two-click payment: a saved card and its CVV give a token for one charge. */
function findSaved(world: World, { token_id, card_cvv }: Query): CardFacts {
  const messages = checkCvv(card_cvv);
  if (messages.length > 0) throw invalid(...messages);
  const saved = world.cards.get(token_id ?? "");
  if (!saved?.isSaved) throw new Refusal(411);
  return saved;
}

function readCard(world: World, query: Query, needsCvv: boolean): CardFacts {
  const number = (query.card_number ?? "").replaceAll(" ", "");
  const messages = [
    ...checkNumber(number),
    ...checkExpiry(query.card_exp_month, query.card_exp_year, world.clock.now()),
    ...needsCvv ? checkCvv(query.card_cvv) : [],
  ];
  if (messages.length > 0) throw invalid(...messages);
  return {
    id: "",
    masked: `${number.slice(0, 8)}-${number.slice(-4)}`,
    brand: brandOf(number),
    behaviour: behaviourOf(number),
    isSaved: false,
    expiresAt: null,
  };
}

function checkNumber(number: string): string[] {
  if (number === "") return ["card_number is required"];
  if (!/^\d{13,19}$/.test(number)) return ["card_number must be 13 to 19 digits"];
  return passesLuhn(number) ? [] : ["card_number does not match with luhn algorithm"];
}

function checkCvv(cvv: string | undefined): string[] {
  if (!cvv) return ["card_cvv is required"];
  return /^\d{3,4}$/.test(cvv) ? [] : ["card_cvv must be 3 or 4 digits"];
}

function checkExpiry(month: string | undefined, year: string | undefined, now: number): string[] {
  const messages: string[] = [];
  if (!month) messages.push("card_exp_month is required");
  else if (!/^(0?[1-9]|1[0-2])$/.test(month)) messages.push("card_exp_month must be 1 to 12");
  if (!year) messages.push("card_exp_year is required");
  else if (!/^\d{4}$/.test(year)) messages.push("card_exp_year must be a year of four digits");
  if (messages.length > 0) return messages;
  const today = new Date(now);
  const months = Number(year) * 12 + Number(month) - 1;
  const thisMonth = today.getUTCFullYear() * 12 + today.getUTCMonth();
  if (Number(year) < today.getUTCFullYear()) {
    return ["card_exp_year must be greater than this year"];
  }
  return months < thisMonth ? ["card_exp_month must be greater than this month"] : [];
}

export function saveCard(world: World, card: Omit<Card, "id" | "number">): Card {
  const [first, last] = card.masked.split("-");
  const id = `${first}${world.random.hex(20)}${last}`;
  return world.cards.put({ ...card, id, isSaved: true, expiresAt: null });
}
