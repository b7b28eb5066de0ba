/** Invoices and subscriptions in tests: valid requests, and checks of the stored records. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { z } from "@hono/zod-openapi";
import type { Database } from "../../../db/connection/database.ts";
import { InvoiceSchema } from "../../../core/invoices/schema.ts";
import { SubscriptionSchema } from "../../../core/subscriptions/schema.ts";
import { AMOUNT, type Json, savedCard, type TestSandbox } from "../gateway/sandbox.ts";

export type Invoice = z.output<typeof InvoiceSchema>;
export type Subscription = z.output<typeof SubscriptionSchema>;

/** A request with a new order id. */
export function invoiceRequest(more: Json = {}): Json {
  return {
    customer_name: "Budi",
    due_date: "2099-12-31",
    items: [{ description: "A thing", price: AMOUNT, quantity: 1 }],
    order_id: randomUUID(),
    ...more,
  };
}

/** A request with a new name. */
export async function subscriptionRequest(sandbox: TestSandbox, more: Json = {}): Promise<Json> {
  return {
    name: `sub-${randomUUID()}`,
    amount: 14_000,
    payment_type: "credit_card",
    token: await savedCard(sandbox),
    interval: 1,
    interval_unit: "day",
    ...more,
  };
}

export async function parseInvoice(response: Response, status: number): Promise<Invoice> {
  return await parse(InvoiceSchema, response, status);
}

export async function parseSubscription(response: Response, status: number): Promise<Subscription> {
  return await parse(SubscriptionSchema, response, status);
}

async function parse<T>(schema: z.ZodType<T>, response: Response, status: number): Promise<T> {
  const text = await response.text();
  assert.equal(response.status, status, text);
  return schema.parse(JSON.parse(text));
}

interface StoredRecord {
  status: string;
  event_count: number;
  history: { from_status: string | null; to_status: string }[];
  events: { name: string; sequence: number }[];
}

/**
 * Checks that the history leads to the record's status, and that its events are numbered without
 * gaps; returns the names of the events.
 */
export async function assertConsistent(
  database: Database,
  table: "invoices" | "subscriptions",
  id: string,
): Promise<string[]> {
  const [record] = await database.query((sql) =>
    sql<[StoredRecord?]>`
      select status, event_count,
        array(select to_json(entry) from gateway.history entry
          where entry.resource_id = record.id order by entry.id) as history,
        array(select to_json(event) from gateway.events event
          where event.resource_id = record.id order by event.sequence) as events
      from gateway.${sql.unsafe(table)} record where id = ${id}`
  );
  assert.ok(record, "the record exists");
  const { status, history, events } = record;
  const steps = history.map(({ from_status, to_status }) => `${from_status}>${to_status}`);
  assert.equal(history.at(-1)?.to_status, status, `${steps}`);
  const before = history.map((_, index) => history[index - 1]?.to_status ?? null);
  assert.deepEqual(history.map(({ from_status }) => from_status), before, `${steps}`);
  const numbers = Array.from({ length: record.event_count }, (_, index) => index + 1);
  assert.deepEqual(events.map(({ sequence }) => sequence), numbers);
  return events.map(({ name }) => name);
}
