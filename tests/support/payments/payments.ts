/** The app connected to the emulated gateway, with helpers for payment tests. */

import type { z } from "@hono/zod-openapi";
import assert from "node:assert/strict";
import { checkPaymentStatus } from "../../../core/payments/check_payment_status.ts";
import { PaymentSchema } from "../../../core/payments/schema.ts";
import { listHistory } from "../../../db/records/records.ts";
import { openApp, REAL_INSTALLATION, type TestApp, type TestAppOptions } from "../app.ts";
import { createDatabase } from "../database/database.ts";
import {
  ACCEPTED_CARD,
  AMOUNT,
  CUSTOMER,
  ITEMS,
  type Json,
  openSandbox,
  SERVER_KEY,
  type TestSandbox,
} from "../gateway/sandbox.ts";

export type Payment = z.output<typeof PaymentSchema>;

export interface TestPayments extends AsyncDisposable {
  app: TestApp;
  sandbox: TestSandbox;
  databaseUrl: string;
  /** The API key of Alice, who is not staff. */
  key: string;
  /** Sends JSON as Alice, unless another key is given. */
  post(path: string, body?: unknown, headers?: HeadersInit, key?: string): Promise<Response>;
  get(path: string, key?: string): Promise<Response>;
  /** Charges; fails the test unless the charge succeeds. */
  charge(kind?: ChargeKind, more?: Json): Promise<Payment>;
  /** The stored payment; the gateway is not called. */
  read(id: string): Promise<Payment>;
  /** Charges, pays at the gateway and updates the stored payment. */
  paid(kind?: ChargeKind, more?: Json): Promise<Payment>;
  /** Checks the payment at the gateway through the `check_status` route. */
  refresh(id: string): Promise<Payment>;
  /** Runs the `check_payment_status` task, as a worker does. */
  check(id: string): Promise<unknown>;
  /** The transitions so far, as `pending>settlement charge`. */
  transitions(id: string): Promise<string[]>;
  /** The names of the events so far. */
  events(id: string): Promise<string[]>;
  /** The gateway's transactions with this order id. */
  transactions(orderId: string): Promise<Json[]>;
}

/** Turns rate limiting off. */
const UNLIMITED = { RATE_LIMIT_PER_SECOND: "1000000", RATE_LIMIT_BURST: "1000000" };

export async function openPayments(
  options: Partial<TestAppOptions> = {},
): Promise<TestPayments> {
  const databaseUrl = options.databaseUrl ?? await createDatabase();
  // A random seed: tests that share a database must not get equal transaction ids.
  const sandbox = await openSandbox({ seed: undefined });
  const app = await openApp({
    gatewayUrl: sandbox.url,
    serverKey: SERVER_KEY,
    ...options,
    databaseUrl,
    env: { ...REAL_INSTALLATION, ...UNLIMITED, ...options.env },
  });
  const alice = await app.createKey();

  const payments: TestPayments = {
    app,
    sandbox,
    databaseUrl,
    key: alice,
    post: (path, body, headers = {}, key = alice) =>
      app.as(key, path, {
        method: "POST",
        ...body !== undefined && { body: JSON.stringify(body) },
        headers: {
          ...body !== undefined && { "Content-Type": "application/json" },
          ...Object.fromEntries(new Headers(headers)),
        },
      }),
    get: (path, key = alice) => app.as(key, path),
    async charge(kind = "bca", more = {}) {
      const response = await payments.post("/charge/", {
        ...await chargeRequest(sandbox, kind),
        ...more,
      });
      return await parsePayment(response, 201);
    },
    read: async (id) => await parsePayment(await payments.get(`/payments/${id}/`), 200),
    async paid(kind = "gopay", more) {
      const { id, transaction_id } = await payments.charge(kind, more);
      const control = kind.startsWith("card") ? "settle" : "pay";
      await sandbox.control(`transactions/${transaction_id}/${control}`);
      return await payments.refresh(id);
    },
    async refresh(id) {
      const response = await payments.get(`/payments/${id}/check_status/`);
      assert.equal(response.status, 200, await response.clone().text());
      return PaymentSchema.parse((await response.json()).payment);
    },
    check: (id) => checkPaymentStatus(app.service, id),
    async transitions(id) {
      const history = await app.database.query((sql) => listHistory(sql, id));
      return history.map(({ from_status, to_status, source }) =>
        `${from_status ?? ""}>${to_status} ${source}`
      );
    },
    async events(id) {
      const rows = await app.database.query((sql) =>
        sql`select name from gateway.events where resource_id = ${id} order by sequence`
      );
      return rows.map(({ name }) => name);
    },
    transactions: (orderId) =>
      sandbox.control(`transactions?order_id=${orderId}`, undefined, "GET"),
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
  return payments;
}

export async function parsePayment(response: Response, status: number): Promise<Payment> {
  const text = await response.text();
  assert.equal(response.status, status, text);
  return PaymentSchema.parse(JSON.parse(text));
}

/** Compares only the fields in `expected`. */
export function assertMembers(payment: Partial<Payment>, expected: Partial<Payment>): void {
  for (const [name, value] of Object.entries(expected)) {
    assert.deepEqual(payment[name as keyof Payment], value, name);
  }
}

/** Charge requests by the short names that tests use. */
const CHARGES = {
  card: { payment_type: "credit_card", authentication: false },
  card_3ds: { payment_type: "credit_card" },
  card_auth: { payment_type: "credit_card", authentication: false, authorize: true },
  bca: { payment_type: "bank_transfer", bank: "bca" },
  bni: { payment_type: "bank_transfer", bank: "bni" },
  bri: { payment_type: "bank_transfer", bank: "bri" },
  cimb: { payment_type: "bank_transfer", bank: "cimb" },
  permata: { payment_type: "bank_transfer", bank: "permata" },
  echannel: { payment_type: "echannel" },
  gopay: { payment_type: "gopay" },
  shopeepay: { payment_type: "shopeepay", callback_url: "https://shop.example/back" },
  ovo: { payment_type: "ovo", customer_details: { phone: "+628123456789" } },
  dana: { payment_type: "dana" },
  qris: { payment_type: "qris" },
  cstore: { payment_type: "cstore", store: "alfamart" },
  akulaku: { payment_type: "akulaku", item_details: ITEMS, customer_details: CUSTOMER },
  kredivo: { payment_type: "kredivo", item_details: ITEMS, customer_details: CUSTOMER },
} as const;

export type ChargeKind = keyof typeof CHARGES;
export const CHARGE_KINDS = Object.keys(CHARGES) as ChargeKind[];

/** The body of a charge, with a new token if it is a card. */
export async function chargeRequest(
  sandbox: TestSandbox,
  kind: ChargeKind,
  cardNumber = ACCEPTED_CARD,
): Promise<Json> {
  const isCard = kind.startsWith("card");
  return {
    gross_amount: AMOUNT,
    ...CHARGES[kind],
    ...isCard && { token_id: await sandbox.token(cardNumber) },
  };
}
