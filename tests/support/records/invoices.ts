/** Invoices in tests: created by the app, paid by customers of the sandbox, checked by the jobs. */

import { z } from "@hono/zod-openapi";
import { dayInWib } from "../../../core/gateway/times.ts";
import assert from "node:assert/strict";
import { viewEvent } from "../../../core/events/read.ts";
import { checkOverdueInvoices } from "../../../core/invoices/check_overdue_invoices.ts";
import { checkPendingPayments } from "../../../core/payments/check_pending_payments.ts";
import type { GatewayEvent } from "../../../db/events/events.ts";
import { EventSchema } from "../../../routes/events/schemas.ts";
import { InvoiceSchema } from "../../../core/invoices/schema.ts";
import type { TestAppOptions } from "../app.ts";
import { notify } from "../gateway/notifications.ts";
import { openRelayed, type RelayedPayments } from "../gateway/relay.ts";
import type { Json } from "../gateway/sandbox.ts";
import { runDueJobs } from "../jobs/due_jobs.ts";
import { parsePayment, type Payment } from "../payments/payments.ts";

export type Invoice = z.output<typeof InvoiceSchema>;
export type Event = z.output<typeof EventSchema>;

/** In milliseconds. */
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** The call that creates an invoice at the gateway. */
export const CREATE = "POST /v1/invoices";

/** The total of the invoice of `invoiceDue`. */
export const TOTAL = 160_000;

export interface TestInvoices extends RelayedPayments {
  staff: string;
  /** Creates an invoice, as Alice unless another key is given. It must succeed. */
  create(more?: Json, headers?: HeadersInit, key?: string): Promise<Invoice>;
  /** The stored invoice. */
  find(id: string): Promise<Invoice>;
  void(id: string, body?: Json, headers?: HeadersInit): Promise<Response>;
  /** The invoice at the gateway. */
  atGateway(invoice: Invoice): Promise<Json>;
  /**
   * The customer pays by the link, or (`only_start`) only chooses a method. Returns the
   * transaction.
   */
  pay(invoice: Invoice, request?: Json): Promise<Json>;
  /** All payments of the invoice, paid or not, as its owner sees them, oldest first. */
  paymentsOf(invoice: Invoice): Promise<Payment[]>;
  /** The events so far, oldest first. */
  readEvents(id: string): Promise<Event[]>;
  /** From now on the app receives the gateway's notifications. */
  connect(): void;
  /** Runs jobs until none is due. */
  runJobs(): Promise<void>;
  /** Runs the scheduled checks, then jobs until none is due. */
  runSchedule(): Promise<void>;
  now(): number;
  /** Advances the clocks of the app and of the gateway. */
  advance(ms: number): Promise<void>;
}

export async function openInvoices(options: Partial<TestAppOptions> = {}): Promise<TestInvoices> {
  let aheadMs = 0;
  const now = options.now ?? (() => Date.now() + aheadMs);
  const payments = await openRelayed({ ...options, now });
  const { app, get, post, sandbox } = payments;
  const staff = await app.createKey({ userId: "sarah", isStaff: true });

  const invoices: TestInvoices = {
    ...payments,
    staff,
    create: async (more = {}, headers, key) =>
      await parseInvoice(await post("/invoices/", { ...invoiceDue(now()), ...more }, headers, key)),
    async find(id) {
      const found = await parseInvoice(await get(`/invoices/${id}/`, staff), 200);
      // The responses of other operations do not have it, and tests compare them.
      delete found.user_id;
      return found;
    },
    void: async (id, body, headers) => await post(`/invoices/${id}/void/`, body, headers),
    atGateway: ({ gateway_invoice_id }) => sandbox.get(`/v1/invoices/${gateway_invoice_id}`),
    pay: async ({ gateway_invoice_id }, request = {}) =>
      (await sandbox.control(`invoices/${gateway_invoice_id}/pay`, request)).transaction,
    async paymentsOf(invoice) {
      const path = `/payments/?invoice_id=${invoice.id}&limit=100`;
      const list: Json[] = await (await get(path)).json();
      const read = async ({ id }: Json) => await parsePayment(await get(`/payments/${id}/`), 200);
      const all = await Promise.all(list.map(read));
      assert.ok(all.every(({ invoice_id }) => invoice_id === invoice.id));
      return all.reverse();
    },
    // Reads the table: the API shows an event only after the publisher has assigned its position.
    async readEvents(id) {
      const rows = await app.database.query((sql) =>
        sql<GatewayEvent[]>`
          select * from gateway.events where resource_id = ${id} order by sequence`
      );
      return rows.map((row) => EventSchema.parse(viewEvent(row)));
    },
    connect() {
      sandbox.receiver.answer = ({ body }) => notify(payments, body);
    },
    async runJobs() {
      while (await runDueJobs(app) > 0);
    },
    async runSchedule() {
      await checkOverdueInvoices(app.service);
      await checkPendingPayments(app.service);
      await invoices.runJobs();
    },
    now,
    async advance(ms) {
      aheadMs += ms;
      await sandbox.advance(Math.round(ms / SECOND));
    },
    // A notification that is being sent must not reach a closed app.
    async [Symbol.asyncDispose]() {
      sandbox.receiver.answer = () => new Response("OK");
      payments.relay.releaseAll();
      await sandbox.waitForWebhooks();
      await payments[Symbol.asyncDispose]();
    },
  };
  return invoices;
}

/** A valid request, due in three days. */
export function invoiceDue(now: number): Json {
  return {
    customer_name: "Budi Utomo",
    customer_email: "budi@shop.example",
    due_date: dayOf(now + 3 * DAY),
    items: [
      { description: "Coffee beans, 1 kg", price: 75_000, quantity: 2 },
      { description: "Delivery", price: 10_000, quantity: 1 },
    ],
  };
}

/** The date in Western Indonesia. */
export function dayOf(time: number): string {
  return dayInWib(new Date(time));
}

export async function parseInvoice(response: Response, status = 201): Promise<Invoice> {
  const text = await response.text();
  assert.equal(response.status, status, text);
  return z.strictObject(InvoiceSchema.shape).parse(JSON.parse(text));
}

/** The names of the events of an invoice. */
export async function readEventNames(
  { readEvents }: TestInvoices,
  { id }: Invoice,
): Promise<string[]> {
  return (await readEvents(id)).map(({ name }) => name);
}

/** The calls that create an invoice at the gateway, with their idempotency keys. */
export function sentInvoices({ relay }: TestInvoices): { key: string | null; body: Json }[] {
  return relay.received.filter(({ method, target }) => `${method} ${target}` === CREATE)
    .map(({ headers, body }) => ({
      key: headers.get("X-Idempotency-Key"),
      body: JSON.parse(body),
    }));
}

/** Changes the gateway's responses to reading and creating invoices. */
export function alterInvoices({ relay }: TestInvoices, alter: (answer: Json) => Json): void {
  relay.intercept = async ({ method, target }, pass) => {
    const answer = await pass();
    if (!target.startsWith("/v1/invoices") || method === "PATCH" || !answer.ok) return answer;
    return Response.json(alter(await answer.json()), { status: answer.status });
  };
}
