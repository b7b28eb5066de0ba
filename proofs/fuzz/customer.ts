/**
 * The customers and banks of a run: card tokens, payments and denials, through the sandbox. Without
 * them, no payment would be paid, and no refund or capture could succeed.
 */

import { randomUUID } from "node:crypto";
import type { Random } from "../../sandbox/engine/random.ts";
import { DEFAULT_KEYS } from "../../sandbox/sandbox.ts";
import { call, type Json } from "../../tests/support/gateway/sandbox.ts";
import { type OutsideValues, SERVER_KEY } from "./requests.ts";
import { chance, pick } from "./values.ts";

/** Accepted, accepted after 3-D Secure, challenged twice, denied. */
const CARDS = [
  "4556557955726624",
  "4811111111111114",
  "4511111111111117",
  "5510111111111115",
  "4911111111111113",
];

const CARD_PARAMETERS = "card_exp_month=12&card_exp_year=2035&card_cvv=123";

const ACTIONS = ["pay", "pay", "pay", "pay", "deny", "expire", "fail", "three_ds", "settle"];
const LATER_ACTIONS = ["settle", "settle", "chargeback", "reverse", "pay_again"];

/** How many tokens are fetched ahead; each can be used for one charge. */
const TOKENS = 20;

export interface Customer extends OutsideValues {
  /** Fetches what the next request may need. */
  prepare(random: Random, operationId: string): Promise<void>;
  /** Acts on a record that a response returned, if its state allows it. */
  act(random: Random, record: Json): Promise<void>;
}

export async function createCustomer(sandbox: string, receiver: string): Promise<Customer> {
  const tokens: string[] = [];
  const unknown: string[] = [];
  const saved = await Promise.all(CARDS.map((number) => registerCard(sandbox, number)));

  async function prepare(random: Random, operationId: string) {
    if (operationId === "createCharge" && tokens.length < TOKENS) {
      tokens.push(await fetchToken(sandbox, pick(random, CARDS)));
    }
    if (operationId === "createReconciliation") {
      unknown[random.below(5)] = await chargeElsewhere(sandbox, receiver);
    }
    if (operationId === "refundPayment" && chance(random, 15)) {
      const fault = pick(random, ["bank_pending", "bank_refuses"]);
      await post(`${sandbox}/_sandbox/faults`, { operation: "refund", fault });
    }
  }

  async function act(random: Random, record: Json) {
    const { transaction_id, gateway_invoice_id, gateway_subscription_id } = record;
    const control = `${sandbox}/_sandbox`;
    if (gateway_invoice_id) await post(`${control}/invoices/${gateway_invoice_id}/pay`);
    if (gateway_subscription_id) {
      await post(`${control}/subscriptions/${gateway_subscription_id}/run`);
    }
    if (!transaction_id) return;
    const action = pick(random, record.is_pending ? ACTIONS : LATER_ACTIONS);
    await post(`${control}/transactions/${transaction_id}/${action}`);
  }

  return {
    receiver,
    cardToken: (random) => tokens.shift() ?? random.uuid(),
    savedCard: (random) => pick(random, saved),
    unknownTransaction: (random) => {
      const lines = unknown.filter(Boolean);
      return lines.length > 0 ? pick(random, lines) : `x,${random.uuid()},150000.00,,,`;
    },
    prepare,
    act,
  };
}

async function registerCard(sandbox: string, number: string): Promise<string> {
  const query = `client_key=${DEFAULT_KEYS.client}&card_number=${number}&${CARD_PARAMETERS}`;
  const { saved_token_id } = await getJson(`${sandbox}/v2/card/register?${query}`);
  return saved_token_id;
}

async function fetchToken(sandbox: string, number: string): Promise<string> {
  const query = `client_key=${DEFAULT_KEYS.client}&card_number=${number}&${CARD_PARAMETERS}`;
  const { token_id } = await getJson(`${sandbox}/v2/token?${query}`);
  return token_id;
}

/** The line of a report about a paid transaction of which the service has not been notified. */
async function chargeElsewhere(sandbox: string, receiver: string): Promise<string> {
  const transaction_details = { order_id: randomUUID(), gross_amount: 150_000 };
  const charge = { payment_type: "gopay", transaction_details };
  const elsewhere = {
    "X-Override-Notification": receiver,
    "Authorization": `Basic ${btoa(`${SERVER_KEY}:`)}`,
  };
  const { body } = await call(sandbox, "POST", "/v2/charge", charge, elsewhere);
  await post(`${sandbox}/_sandbox/transactions/${body.transaction_id}/pay`);
  return `${body.order_id},${body.transaction_id},150000.00,,,2026-03-05 10:12:09`;
}

async function getJson(url: string): Promise<Json> {
  return await (await fetch(url)).json();
}

/** The sandbox rejects what the state of the record does not allow, which is no fault here. */
async function post(url: string, body: object = {}): Promise<void> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  await response.body?.cancel();
}
