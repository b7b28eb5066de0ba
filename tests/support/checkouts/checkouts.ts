/** Checkouts with the emulated gateway, and a customer who uses their pages without scripts. */

import type { z } from "@hono/zod-openapi";
import assert from "node:assert/strict";
import { METHOD_IDS } from "../../../core/checkouts/methods.ts";
import { CheckoutSchema } from "../../../core/checkouts/schema.ts";
import type { TestAppOptions } from "../app.ts";
import type { Json } from "../gateway/sandbox.ts";
import { openPayments, type TestPayments } from "../payments/payments.ts";

export type Checkout = z.output<typeof CheckoutSchema>;

export const PUBLIC_URL = "https://pay.shop.example";

/** A card is paid on the gateway's own page: `cards.ts`. */
export const CHARGED_METHODS = METHOD_IDS.filter((id) => id !== "credit_card");

export interface TestCheckouts extends TestPayments {
  /** Creates a checkout; fails the test unless it succeeds. */
  create(input?: Json): Promise<Checkout>;
  readCheckout(id: string): Promise<Checkout>;
  /** The page behind the link, as HTML. */
  page(checkout: Checkout, query?: string): Promise<string>;
  /** The customer chooses a method, and follows to the page. */
  choose(checkout: Checkout, method: string, more?: Record<string, string>): Promise<string>;
  /** The customer asks for another method. */
  change(checkout: Checkout): Promise<string>;
  /** All transactions of the checkout at the gateway. */
  transactionsOf(checkout: Checkout): Promise<Json[]>;
  /** The payments of the attempts that have one, in their order. */
  paymentsOf(checkout: Checkout): Promise<{ id: string; order_id: string }[]>;
}

export async function openCheckouts(
  options: Partial<TestAppOptions> = {},
): Promise<TestCheckouts> {
  return withCheckouts(
    await openPayments({ ...options, env: { PUBLIC_URL, ...options.env } }),
  );
}

/** Checkouts of a service that has the setting `PUBLIC_URL`. */
export function withCheckouts<T extends TestPayments>(payments: T): T & TestCheckouts {
  const { app } = payments;
  const pathOf = ({ checkout_url }: Checkout) => new URL(checkout_url!).pathname;
  const read = async (response: Response) => {
    assert.equal(response.status, 200, await response.clone().text());
    return await response.text();
  };
  const post = async (checkout: Checkout, path: string, fields: Record<string, string>) => {
    const response = await app.fetchUnchecked(
      new Request(new URL(pathOf(checkout) + path, PUBLIC_URL), {
        method: "POST",
        body: new URLSearchParams(fields),
      }),
    );
    assert.equal(response.status, 303, await response.clone().text());
    assert.equal(response.headers.get("location"), pathOf(checkout));
    return await checkouts.page(checkout);
  };
  const checkouts: T & TestCheckouts = {
    ...payments,
    async create(input = {}) {
      const response = await payments.post("/checkouts/", { gross_amount: 150_000, ...input });
      const text = await response.text();
      assert.equal(response.status, 201, text);
      return CheckoutSchema.parse(JSON.parse(text));
    },
    async readCheckout(id) {
      const response = await payments.get(`/checkouts/${id}/`);
      assert.equal(response.status, 200);
      return CheckoutSchema.parse(await response.json());
    },
    page: async (checkout, query = "") =>
      await read(
        await app.fetchUnchecked(new Request(new URL(pathOf(checkout) + query, PUBLIC_URL))),
      ),
    choose: (checkout, method, more = {}) => post(checkout, "", { method, ...more }),
    change: (checkout) => post(checkout, "/change", {}),
    async transactionsOf({ order_id }) {
      const names = Array.from(
        { length: 10 },
        (_, i) => i === 0 ? order_id : `${order_id}~${i + 1}`,
      );
      return (await Promise.all(names.map((name) => payments.transactions(name)))).flat();
    },
    async paymentsOf({ id }) {
      const { attempts } = await checkouts.readCheckout(id);
      const found = await Promise.all(attempts.map(async ({ order_id }) => {
        const query = new URLSearchParams({ order_id });
        return await (await payments.get(`/payments/?${query}`)).json();
      }));
      return found.flat();
    },
  };
  return checkouts;
}
