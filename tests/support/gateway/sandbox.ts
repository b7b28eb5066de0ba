/** A sandbox for tests, with the calls of a merchant and a receiver of its webhooks. */

import assert from "node:assert/strict";
import {
  DEFAULT_KEYS,
  type Sandbox,
  type SandboxOptions,
  startSandbox,
} from "../../../sandbox/sandbox.ts";
import { freePort } from "../free_port.ts";

export const SERVER_KEY = DEFAULT_KEYS.server;
export const CLIENT_KEY = DEFAULT_KEYS.client;

/** Responses of the gateway have many formats; each test checks its own. */
// deno-lint-ignore no-explicit-any -- response types would repeat what the tests assert
export type Json = any;

export interface Reply {
  http: number;
  headers: Headers;
  text: string;
  /** Undefined if the text is not JSON. */
  body: Json;
}

export interface Hook {
  path: string;
  headers: Headers;
  text: string;
  body: Json;
}

export type Answer = (hook: Hook, number: number) => Response | Promise<Response>;

export interface Receiver extends AsyncDisposable {
  url: string;
  /** All received webhooks, in order. */
  hooks: Hook[];
  /** Response of the receiver; 200 by default. */
  answer: Answer;
}

/** Null: a killed sandbox sent only a part of its request. */
export async function readHook(request: Request): Promise<Hook | null> {
  const text = await request.text().catch(() => null);
  if (text === null) return null;
  const path = new URL(request.url).pathname;
  return { path, headers: request.headers, text, body: JSON.parse(text) };
}

export function openReceiver(): Receiver {
  const hooks: Hook[] = [];
  const options = { hostname: "127.0.0.1", port: freePort(), onListen: () => {} };
  const server = Deno.serve(options, async (request) => {
    const hook = await readHook(request);
    if (!hook) return new Response(null, { status: 400 });
    hooks.push(hook);
    return await receiver.answer(hook, hooks.length);
  });
  const receiver: Receiver = {
    url: `http://127.0.0.1:${server.addr.port}`,
    hooks,
    answer: () => new Response("OK"),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  return receiver;
}

export interface TestSandbox extends AsyncDisposable {
  url: string;
  receiver: Receiver;
  hooks: Hook[];
  call(method: string, path: string, body?: unknown, headers?: HeadersInit): Promise<Reply>;
  /** The body of the response, also of an error. */
  get(path: string): Promise<Json>;
  post(path: string, body?: unknown, headers?: HeadersInit): Promise<Json>;
  status(id: string): Promise<Json>;
  /** A call to `/_sandbox/…` that must succeed. */
  control(path: string, body?: unknown, method?: string): Promise<Json>;
  /** The gateway's settlement report of a day, as CSV. */
  settlementReport(date: string): Promise<string>;
  /** A charge of the given kind with a new order id. */
  charge(kind: Kind, more?: Json, headers?: HeadersInit): Promise<Json>;
  /** A charged and paid transaction. */
  paid(kind: Kind, more?: Json): Promise<Json>;
  token(cardNumber: string): Promise<string>;
  advance(seconds: number): Promise<void>;
  /** Resolves when all webhooks so far have been attempted. */
  waitForWebhooks(): Promise<void>;
  fault(operation: string, fault: string, more?: Json): Promise<Json>;
  /**
   * Whether status responses contain the merchant's metadata from now on; by default they do not.
   */
  showMetadata(isShown: boolean): Promise<void>;
  sandbox: Sandbox;
}

/** Internal errors of the sandbox fail the test when the sandbox is closed. */
export async function openSandbox(
  options: Partial<SandboxOptions> = {},
  receiver: Receiver = openReceiver(),
): Promise<TestSandbox> {
  const internalErrors: unknown[] = [];
  const sandbox = await startSandbox({
    path: null,
    port: 0,
    seed: 1,
    onError: (error) => internalErrors.push(error),
    ...options,
    settings: {
      notification_url: `${receiver.url}/payment`,
      recurring_notification_url: `${receiver.url}/recurring`,
      pay_account_notification_url: `${receiver.url}/account`,
      ...options.settings,
    },
  });
  const { url } = sandbox;
  let orders = 0;

  const box: TestSandbox = {
    url,
    receiver,
    hooks: receiver.hooks,
    call: (method, path, body, headers) => call(url, method, path, body, headers),
    get: async (path) => (await box.call("GET", path)).body,
    post: async (path, body, headers) => (await box.call("POST", path, body, headers)).body,
    status: (id) => box.get(`/v2/${id}/status`),
    async settlementReport(date) {
      const response = await fetch(`${url}/_sandbox/reports/settlement.csv?date=${date}`);
      assert.equal(response.status, 200);
      return await response.text();
    },
    async control(path, body, method = "POST") {
      const { http, body: answer } = await box.call(method, `/_sandbox/${path}`, body);
      assert.ok(http < 300, `${path}: ${http} ${JSON.stringify(answer)}`);
      return answer;
    },
    async charge(kind, more = {}, headers) {
      const order_id = `order-${++orders}`;
      const base = await requestOf(box, kind, order_id);
      return await box.post("/v2/charge", merge(base, more), headers);
    },
    async paid(kind, more) {
      const { transaction_id } = await box.charge(kind, more);
      const isCard = kind.startsWith("card");
      await box.control(`transactions/${transaction_id}/${isCard ? "settle" : "pay"}`);
      return await box.status(transaction_id);
    },
    async token(card_number) {
      const query = new URLSearchParams({
        client_key: CLIENT_KEY,
        card_number,
        card_cvv: "123",
        card_exp_month: "12",
        card_exp_year: "2099",
      });
      const { token_id } = await box.get(`/v2/token?${query}`);
      assert.ok(token_id);
      return token_id;
    },
    advance: async (advance_seconds) => void await box.control("clock", { advance_seconds }),
    waitForWebhooks: async () => void await box.control("webhooks/settle"),
    fault: (operation, fault, more) => box.control("faults", { operation, fault, ...more }),
    showMetadata: async (metadata_in_status) =>
      void await box.control("settings", { metadata_in_status }, "PATCH"),
    sandbox,
    async [Symbol.asyncDispose]() {
      await sandbox[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
      assert.deepEqual(internalErrors, []);
    },
  };
  return box;
}

export async function call(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: HeadersInit = {},
): Promise<Reply> {
  const response = await fetch(url + path, {
    method,
    headers: {
      "Authorization": `Basic ${btoa(`${SERVER_KEY}:`)}`,
      ...body !== undefined && { "Content-Type": "application/json" },
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    redirect: "manual",
  });
  const text = await response.text();
  return { http: response.status, headers: response.headers, text, body: parse(text) };
}

function parse(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const AMOUNT = 44_000;

export const ITEMS = [{
  id: "a",
  price: AMOUNT,
  quantity: 1,
  name: "A thing",
  category: "Things",
  url: "https://shop.example/a",
}];

export const CUSTOMER = {
  first_name: "Budi",
  email: "budi@shop.example",
  phone: "08123456789",
  shipping_address: { first_name: "Budi", address: "Jalan 1" },
};

/** The fields of a charge that select the payment type, by the short name that tests use. */
export const KINDS = {
  card: { payment_type: "credit_card", credit_card: { bank: "bca" } },
  card_3ds: { payment_type: "credit_card", credit_card: { bank: "bca", authentication: true } },
  card_auth: { payment_type: "credit_card", credit_card: { bank: "bca", type: "authorize" } },
  card_challenge: { payment_type: "credit_card", credit_card: { bank: "bca" } },
  bca: { payment_type: "bank_transfer", bank_transfer: { bank: "bca" } },
  bni: { payment_type: "bank_transfer", bank_transfer: { bank: "bni" } },
  bri: { payment_type: "bank_transfer", bank_transfer: { bank: "bri" } },
  cimb: { payment_type: "bank_transfer", bank_transfer: { bank: "cimb" } },
  permata: { payment_type: "bank_transfer", bank_transfer: { bank: "permata" } },
  permata_old: { payment_type: "permata" },
  echannel: { payment_type: "echannel", echannel: { bill_info1: "Pay:", bill_info2: "Things" } },
  gopay: { payment_type: "gopay" },
  shopeepay: { payment_type: "shopeepay", shopeepay: { callback_url: "https://shop.example/" } },
  ovo: { payment_type: "ovo", ovo: { payer_phone_number: "+628123456789" } },
  dana: { payment_type: "dana" },
  qris: { payment_type: "qris" },
  qris_airpay: { payment_type: "qris", qris: { acquirer: "airpay shopee" } },
  indomaret: { payment_type: "cstore", cstore: { store: "indomaret", message: "Things" } },
  alfamart: { payment_type: "cstore", cstore: { store: "alfamart" } },
  akulaku: { payment_type: "akulaku", item_details: ITEMS, customer_details: CUSTOMER },
  kredivo: { payment_type: "kredivo", item_details: ITEMS, customer_details: CUSTOMER },
} as const;

export type Kind = keyof typeof KINDS;

export const ACCEPTED_CARD = "4811111111111114";
export const CHALLENGED_CARD = "4511111111111117";

async function requestOf(box: TestSandbox, kind: Kind, order_id: string): Promise<Json> {
  const common = { transaction_details: { order_id, gross_amount: AMOUNT } };
  if (!kind.startsWith("card")) return merge(common, KINDS[kind]);
  const card = kind === "card_challenge" ? CHALLENGED_CARD : ACCEPTED_CARD;
  return merge(merge(common, KINDS[kind]), { credit_card: { token_id: await box.token(card) } });
}

/** Objects are merged field by field; other values are replaced. */
export function merge(base: Json, more: Json): Json {
  const isObject = (value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isObject(base) || !isObject(more)) return more;
  const merged = { ...base };
  for (const [name, value] of Object.entries(more)) {
    merged[name] = name in merged ? merge(merged[name], value) : value;
  }
  return merged;
}

/** Links and activates a GoPay account; returns the fields that a charge needs. */
export async function linkedAccount(
  box: TestSandbox,
  phone_number = "8123456789",
): Promise<{ account_id: string; payment_option_token: string }> {
  const { account_id } = await box.post("/v2/pay/account", {
    payment_type: "gopay",
    gopay_partner: { phone_number, country_code: "62", redirect_url: "https://shop.example/" },
  });
  await box.control(`accounts/${account_id}/activate`);
  const { metadata } = await box.get(`/v2/pay/account/${account_id}`);
  return { account_id, payment_option_token: metadata.payment_options[0].token };
}

/** Saves a card and returns its token, which subscriptions need. */
export async function savedCard(box: TestSandbox, card_number = ACCEPTED_CARD): Promise<string> {
  const query = new URLSearchParams({
    client_key: CLIENT_KEY,
    card_number,
    card_exp_month: "12",
    card_exp_year: "2099",
  });
  return (await box.get(`/v2/card/register?${query}`)).saved_token_id;
}
