/** `/_sandbox/`: what a customer, a bank, a clock and bad luck do, at the press of a button. */

import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { z } from "zod";
import { activateAccount } from "../accounts/accounts.ts";
import { ENDPOINTS } from "../http/endpoints.ts";
import { ANSWER_FAULTS, WEBHOOK_FAULTS } from "../world/faults.ts";
import { readBody } from "../http/read_body.ts";
import { invalid, Refusal } from "../http/refusal.ts";
import { isFromElsewhere } from "../http/same_origin.ts";
import { count, flag, object, oneOf, rupiah, text, validate } from "../http/validate.ts";
import { findInvoice, getInvoice } from "../invoices/invoices.ts";
import { INVOICE_METHODS, startPayment } from "../invoices/payment.ts";
import { runCycle } from "../subscriptions/cycle.ts";
import { findSubscription, getSubscription } from "../subscriptions/subscriptions.ts";
import { settle } from "../transactions/by_itself.ts";
import { findTransaction } from "../transactions/find.ts";
import type { Transaction } from "../transactions/transaction.ts";
import { statusAnswer } from "../transactions/views.ts";
import { CAUSES } from "../webhooks/cause.ts";
import type { Webhook } from "../webhooks/webhook.ts";
import type { OpenWorld } from "../world/open_world.ts";
import { tellOfChanges } from "./changes.ts";
import { type HappeningName, HAPPENINGS, letHappen } from "./happenings.ts";

const Particulars = object({
  fee: rupiah(0).nullish(),
  issuer: text(50).nullish(),
  result: oneOf(["success", "failure"]).nullish(),
  amount: rupiah().nullish(),
});

/** What a fault can befall: a call, or what a webhook tells of. */
const OPERATIONS = [
  ...new Set(["*", ...ENDPOINTS.map(({ operation }) => operation), ...CAUSES]),
];

const NewFault = object({
  operation: oneOf(OPERATIONS),
  fault: oneOf([...ANSWER_FAULTS, ...WEBHOOK_FAULTS]),
  count: count(1, 1_000_000).default(1),
  rate: z.number("must be a number").gt(0, "must be above 0").max(1, "must be at most 1").default(
    1,
  ),
  delay_ms: count(0, 600_000).default(1000),
  retry_after: count(0, 86_400).nullish().transform((seconds) => seconds ?? null),
});

const ClockMove = object({
  advance_seconds: count(0, 400_000_000).nullish(),
  to: text(40).nullish(),
});

const address = text(2000).refine(
  (url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ""),
  "must be an http address",
).nullable();

const NewSettings = object({
  notification_url: address,
  recurring_notification_url: address,
  pay_account_notification_url: address,
  reuse_order_id_after_deny: flag(),
}).partial();

const InvoicePayment = object({
  payment_type: oneOf(INVOICE_METHODS as [string, ...string[]]).default("bank_transfer"),
  /** Only opens the payment page's transaction, which can then be paid, or not. */
  only_start: flag().default(false),
});

/** Later times no longer have the gateway's form. */
const LATEST = Date.UTC(3000, 0) - 1;

/** More than anybody reads at once. */
const LIST_LIMIT = 100;

export interface Control {
  world: OpenWorld;
  /** Tells of changes until its answer is called. */
  subscribe(listener: () => void): () => void;
  closing: AbortSignal;
}

export function createControl({ world, subscribe, closing }: Control): Hono {
  const control = new Hono();
  control.use(async (c, next) => {
    if (isFromElsewhere(c.req.raw.headers, world.publicUrl())) {
      throw new Refusal(403, "Another site asked for this");
    }
    await next();
  });

  control.get("/transactions", (c) => c.json(listTransactions(world, c.req.query())));
  control.get(
    "/transactions/:id",
    (c) => c.json(describe(world, findTransaction(world, c.req.param("id")))),
  );
  control.post("/transactions/:id/:happening", async (c) => {
    const name = c.req.param("happening");
    if (!Object.hasOwn(HAPPENINGS, name)) throw new Refusal(404, "There is no such happening");
    const particulars = validate(Particulars, await readBody(c.req.raw) ?? {});
    const transaction = findTransaction(world, c.req.param("id"));
    const changed = await told(() =>
      letHappen(world, name as HappeningName, transaction, particulars)
    );
    return c.json(describe(world, world.transactions.get(changed.id)!));
  });

  control.post("/settle", async (c) => {
    const captured = [...world.transactions.newest()].filter(({ status }) => status === "capture");
    const ended = await told(() => captured.reverse().map((each) => settle(world, each)));
    // A challenge that nobody answered is cancelled instead.
    const settled = ended.filter(({ status }) => status === "settlement").length;
    return c.json({ settled, cancelled: ended.length - settled });
  });

  control.post("/subscriptions/:id/run", async (c) => {
    const subscription = findSubscription(world, c.req.param("id"));
    if (subscription.status !== "active" && subscription.retrying === null) {
      throw new Refusal(412, "The subscription has nothing to run");
    }
    const { schedule, status } = subscription;
    const nextAt = status === "active" ? world.clock.now() : schedule.nextAt;
    await told(() => runCycle(world, { ...subscription, schedule: { ...schedule, nextAt } }));
    return c.json(getSubscription(world, subscription.id));
  });

  control.post("/invoices/:id/pay", async (c) => {
    const invoice = findInvoice(world, c.req.param("id"));
    const request = validate(InvoicePayment, await readBody(c.req.raw) ?? {});
    const { id } = await told(() => {
      const method = request.payment_type as Transaction["method"];
      const started = startPayment(world, invoice.id, method);
      return request.only_start ? started : letHappen(world, "pay", started);
    });
    return c.json({
      invoice: getInvoice(world, invoice.id),
      transaction: describe(world, world.transactions.get(id)!),
    });
  });

  control.post("/accounts/:id/activate", async (c) => {
    const { id, status } = await told(() => activateAccount(world, c.req.param("id")));
    return c.json({ account_id: id, account_status: status });
  });

  const clock = () => ({ now: new Date(world.clock.now()).toISOString() });
  control.get("/clock", (c) => c.json(clock()));
  control.post("/clock", async (c) => {
    const { advance_seconds, to } = validate(ClockMove, await readBody(c.req.raw));
    const now = world.clock.now();
    const target = to ? Date.parse(to) : now + (advance_seconds ?? 0) * 1000;
    if (Number.isNaN(target)) throw invalid("to must be a time");
    if (target < now) throw invalid("to must not be in the past");
    if (target > LATEST) throw invalid("to must not be after the year 2999");
    await world.schedule.advance(target);
    if (closing.aborted) throw new Refusal(503, "The sandbox is closing");
    await told(() => world.remember());
    return c.json(clock());
  });

  control.get("/webhooks", (c) => c.json(listWebhooks(world, c.req.query())));
  control.post("/webhooks/settle", async (c) => {
    await told(() => world.notifier.release());
    await world.notifier.idle();
    const left = [...world.webhooks.newest()].filter(({ state }) => state === "waiting");
    return c.json({ waiting: left.length });
  });
  control.post("/webhooks/:id/resend", async (c) => {
    const webhook = world.webhooks.get(c.req.param("id"));
    if (!webhook) throw new Refusal(404, "There is no such webhook");
    await told(() => world.notifier.resend(webhook));
    return c.json(describeWebhook(world.webhooks.get(webhook.id)!));
  });

  control.get("/faults", (c) => c.json(world.faults.list()));
  control.post("/faults", async (c) => {
    return c.json(world.faults.add(validate(NewFault, await readBody(c.req.raw))), 201);
  });
  control.delete("/faults", (c) => {
    world.faults.clear();
    return c.json([]);
  });

  control.get("/settings", (c) => c.json(world.settings));
  control.patch("/settings", async (c) => {
    Object.assign(world.settings, validate(NewSettings, await readBody(c.req.raw)));
    await told(() => world.remember());
    return c.json(world.settings);
  });

  control.get(
    "/changes",
    (c) => streamSSE(c, (stream) => tellOfChanges(stream, subscribe, closing)),
  );

  /** Done when the merchant has been told, so that whoever asked for it can go and look. */
  async function told<T>(work: () => T): Promise<T> {
    const { result, told } = world.notifier.during(work);
    await told;
    await world.committed();
    return result;
  }

  return control;
}

function listTransactions(world: OpenWorld, query: Record<string, string>) {
  const found = [];
  for (const transaction of world.transactions.newest()) {
    if (query.status && transaction.status !== query.status) continue;
    if (query.order_id && transaction.orderId !== query.order_id) continue;
    found.push(describe(world, transaction));
    if (found.length >= LIST_LIMIT) break;
  }
  return found;
}

function listWebhooks(world: OpenWorld, query: Record<string, string>) {
  const found = [];
  for (const webhook of world.webhooks.newest()) {
    if (query.transaction_id && webhook.transactionId !== query.transaction_id) continue;
    if (query.state && webhook.state !== query.state) continue;
    found.push(describeWebhook(webhook));
    if (found.length >= LIST_LIMIT) break;
  }
  return found;
}

function describe(world: OpenWorld, transaction: Transaction) {
  return {
    ...statusAnswer(world, transaction),
    pay_url: `${world.publicUrl()}/pay/${transaction.id}`,
  };
}

function describeWebhook(webhook: Webhook) {
  return {
    id: webhook.id,
    transaction_id: webhook.transactionId,
    cause: webhook.cause,
    event: webhook.event,
    url: webhook.url,
    state: webhook.state,
    created_at: new Date(webhook.createdAt).toISOString(),
    next_attempt_at: webhook.nextAt && new Date(webhook.nextAt).toISOString(),
    attempts: webhook.attempts.map(({ at, ...rest }) => ({
      at: new Date(at).toISOString(),
      ...rest,
    })),
    payload: JSON.parse(webhook.payload),
  };
}
