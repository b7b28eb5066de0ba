/** A shop: its customers pay, and it repeats the requests that it has sent with a key. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { callService } from "../client.ts";
import { ACCEPTED_CARD, type Json, type TestSandbox } from "../gateway/sandbox.ts";
import { dayInWib } from "../../../core/gateway/times.ts";

export interface Sent {
  path: string;
  body: Json;
  key: string;
  headers: Record<string, string>;
  /** The response of the first attempt. */
  reply: Json;
}

export interface Shop {
  /** Sends a request with a new key; it must succeed. */
  send(path: string, body?: Json, headers?: Record<string, string>): Promise<Sent>;
  /** Sends the request again, with its key. */
  repeat(sent: Sent): Promise<{ status: number; body: Json }>;
  get(path: string): Promise<Json>;
  gopay(amount: number, more?: Json): Promise<Sent>;
  /** A GoPay charge that the customer has paid. */
  paid(amount: number, more?: Json): Promise<Sent>;
  card(amount: number, more?: Json): Promise<Sent>;
  invoice(): Promise<Sent>;
  /** The customer chooses a method on the page of a checkout. */
  choose(checkout: Json, method: string): Promise<void>;
}

/** `url` returns the address of the service, which changes when it is restored. */
export function openShop(sandbox: TestSandbox, key: string, url: () => string): Shop {
  const post = (path: string, body: Json, idempotencyKey: string, headers = {}) =>
    callService(url() + path, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${key}`,
        "Idempotency-Key": idempotencyKey,
        ...body !== undefined && { "Content-Type": "application/json" },
        ...headers,
      },
      body: JSON.stringify(body),
    });
  const shop: Shop = {
    async send(path, body, headers = {}) {
      const key = randomUUID();
      const response = await post(path, body, key, headers);
      assert.ok(response.ok, `${path}: ${await response.clone().text()}`);
      return { path, body, key, headers, reply: await response.json() };
    },
    async repeat({ path, body, key, headers }) {
      const response = await post(path, body, key, headers);
      return { status: response.status, body: await response.json() };
    },
    async get(path) {
      const response = await callService(url() + path, {
        headers: { Authorization: `Bearer ${key}` },
      });
      assert.equal(response.status, 200, `${path}: ${await response.clone().text()}`);
      return await response.json();
    },
    gopay: (gross_amount, more = {}) =>
      shop.send("/charge/", { payment_type: "gopay", gross_amount, ...more }),
    async paid(amount, more) {
      const sent = await shop.gopay(amount, more);
      await sandbox.control(`transactions/${sent.reply.transaction_id}/pay`);
      await sandbox.waitForWebhooks();
      return sent;
    },
    card: async (gross_amount, more = {}) =>
      await shop.send("/charge/", {
        payment_type: "credit_card",
        gross_amount,
        token_id: await sandbox.token(ACCEPTED_CARD),
        authentication: false,
        ...more,
      }),
    invoice: () =>
      shop.send("/invoices/", {
        customer_name: "Budi Utomo",
        due_date: dayInWib(new Date(Date.now() + 3 * 24 * 60 * 60_000)),
        items: [{ description: "Coffee beans, 1 kg", price: 75_000, quantity: 2 }],
      }),
    async choose({ checkout_url }, method) {
      const { pathname } = new URL(checkout_url);
      const response = await callService(url() + pathname, {
        method: "POST",
        body: new URLSearchParams({ method }),
        redirect: "manual",
      });
      await response.body?.cancel();
      assert.equal(response.status, 303);
    },
  };
  return shop;
}
