/** `/_sandbox/`: the control API. It simulates customers, banks, time and faults. */

import { Hono } from "hono";
import { type SSEStreamingApi, streamSSE } from "hono/streaming";
import { z } from "zod";
import { activateAccount } from "../accounts/accounts.ts";
import { ENDPOINTS } from "../api/endpoints.ts";
import { settle } from "../charges/due.ts";
import { simulate, SIMULATED_ACTIONS, type SimulatedActionName } from "../charges/simulate.ts";
import { RESPONSE_FAULTS, WEBHOOK_FAULTS } from "../faults/faults.ts";
import { invalid, Refusal } from "../http/refusal.ts";
import { isCrossOrigin, readBody } from "../http/request.ts";
import { flag, integer, list, object, oneOf, rupiah, text, validate } from "../http/validate.ts";
import {
  convertInvoice,
  findInvoice,
  getInvoice,
  INVOICE_METHODS,
  startInvoicePayment,
  voidInvoice,
} from "../invoices/invoices.ts";
import { type OtherMethod, SNAP_METHODS } from "../snap/methods.ts";
import { findSnapPage } from "../snap/pages.ts";
import { answerThreeDs, payByCard, payByGooglePay, payByOther } from "../snap/pay.ts";
import { runCycle } from "../subscriptions/cycle.ts";
import {
  cancelSubscription,
  disableSubscription,
  enableSubscription,
  findSubscription,
  getSubscription,
} from "../subscriptions/subscriptions.ts";
import { findTransaction } from "../transactions/transactions.ts";
import type { MethodName } from "../world/transaction.ts";
import { CAUSES } from "../world/webhook.ts";
import type { OpenWorld } from "../world/world.ts";
import {
  describeSnapPage,
  describeTransaction,
  describeWebhook,
  listSnapPages,
  listTransactions,
  listWebhooks,
} from "./describe.ts";
import { settlementReport } from "./settlement_report.ts";

/** Later years do not fit the gateway's time format. */
const LATEST = Date.UTC(3000, 0) - 1;

const ActionOptions = object({
  fee: rupiah(0).nullish(),
  issuer: text(50).nullish(),
  result: oneOf(["success", "failure"]).nullish(),
  amount: rupiah().nullish(),
});

/** Values of a fault's `operation`: `*` for all, an API call, or the cause of webhooks. */
const OPERATIONS = [
  ...new Set(["*", ...ENDPOINTS.map(({ operation }) => operation), ...CAUSES]),
];

const NewFault = object({
  operation: oneOf(OPERATIONS),
  fault: oneOf([...RESPONSE_FAULTS, ...WEBHOOK_FAULTS]),
  count: integer(1, 1_000_000).default(1),
  rate: z.number("must be a number").gt(0, "must be above 0").max(1, "must be at most 1").default(
    1,
  ),
  delay_ms: integer(0, 600_000).default(1000),
  retry_after: integer(0, 86_400).nullish().transform((seconds) => seconds ?? null),
});

const ClockMove = object({
  advance_seconds: integer(0, 400_000_000).nullish(),
  to: text(40).nullish(),
});

const webhookUrl = text(2000).refine(
  (url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ""),
  "must be an http or https URL",
).nullable();

const NewSettings = object({
  notification_url: webhookUrl,
  recurring_notification_url: webhookUrl,
  pay_account_notification_url: webhookUrl,
  reuse_order_id_after_deny: flag(),
  denied_review_status: oneOf(["cancel", "deny"]),
  metadata_in_status: flag(),
  dana_order_id: flag(),
  inactive_payment_types: list(text(40), 20),
  snap_cancel: oneOf(["works", "missing"]),
  snap_reuse_order_id_after_deny: flag(),
  snap_min_expiry_seconds: integer(1, 86_400),
  snap_finish_url_for_cards: flag(),
}).partial();

const InvoicePayment = object({
  payment_type: oneOf(INVOICE_METHODS as [string, ...string[]]).default("bank_transfer"),
  /** Starts the transaction and leaves it pending. */
  only_start: flag().default(false),
});

const SnapPayment = object({
  method: oneOf(SNAP_METHODS).default("credit_card"),
  card_number: text(30, 0).default(""),
  /** A saved card, in place of the number. */
  saved_token_id: text(255, 0).default(""),
  save_card: flag().default(false),
  three_ds: oneOf(["success", "failure", "abandon"]).default("success"),
});

/** Any date in the future and any CVV are valid for a test card. */
const CARD_FACTS = { month: "12", year: "2999", cvv: "123" };

const CSV = { "Content-Type": "text/csv; charset=utf-8" };

export interface Control {
  world: OpenWorld;
  /** Calls `listener` after changes, until the returned function is called. */
  watch(listener: () => void): () => void;
  closing: AbortSignal;
}

export function createControl({ world, watch, closing }: Control): Hono {
  const control = new Hono();
  control.use(async (c, next) => {
    if (isCrossOrigin(c.req.raw.headers, world.publicUrl())) {
      throw new Refusal(403, "Cross-origin request blocked");
    }
    await next();
  });
  addTransactions(control, world);
  addSubscriptions(control, world);
  addInvoices(control, world);
  addSnapPages(control, world);
  control.post("/accounts/:id/activate", async (c) => {
    const { id, status } = await runAndDeliver(
      world,
      () => activateAccount(world, c.req.param("id")),
    );
    return c.json({ account_id: id, account_status: status });
  });
  addClock(control, world, closing);
  control.get(
    "/reports/settlement.csv",
    (c) => c.body(settlementReport(world, c.req.query("date") ?? ""), 200, CSV),
  );
  addWebhooks(control, world);
  addFaults(control, world);
  addSettings(control, world);
  control.get(
    "/changes",
    (c) => streamSSE(c, (stream) => streamChanges(stream, watch, closing)),
  );
  return control;
}

function addTransactions(control: Hono, world: OpenWorld): void {
  control.get("/transactions", (c) => c.json(listTransactions(world, c.req.query())));
  control.get(
    "/transactions/:id",
    (c) => c.json(describeTransaction(world, findTransaction(world, c.req.param("id")))),
  );
  control.post("/transactions/:id/:action", async (c) => {
    const name = c.req.param("action");
    if (!Object.hasOwn(SIMULATED_ACTIONS, name)) throw new Refusal(404, "Unknown action");
    const options = validate(ActionOptions, await readBody(c.req.raw) ?? {});
    const transaction = findTransaction(world, c.req.param("id"));
    const changed = await runAndDeliver(
      world,
      () => simulate(world, name as SimulatedActionName, transaction, options),
    );
    return c.json(describeTransaction(world, world.transactions.get(changed.id)!));
  });

  control.post("/settle", async (c) => {
    const captured = [...world.transactions.find("status:capture")];
    const ended = await runAndDeliver(
      world,
      () => captured.reverse().map((each) => settle(world, each)),
    );
    // Undecided challenges are cancelled instead of settled.
    const settled = ended.filter(({ status }) => status === "settlement").length;
    return c.json({ settled, cancelled: ended.length - settled });
  });
}

const SUBSCRIPTION_ACTIONS = {
  disable: disableSubscription,
  enable: enableSubscription,
  cancel: cancelSubscription,
};

function addSubscriptions(control: Hono, world: OpenWorld): void {
  control.post("/subscriptions/:id/run", async (c) => {
    const subscription = findSubscription(world, c.req.param("id"));
    if (subscription.status !== "active" && subscription.retrying === null) {
      throw new Refusal(412, "The subscription is inactive and has no retry scheduled");
    }
    const { schedule, status } = subscription;
    const nextAt = status === "active" ? world.clock.now() : schedule.nextAt;
    await runAndDeliver(
      world,
      () => runCycle(world, { ...subscription, schedule: { ...schedule, nextAt } }),
    );
    return c.json(getSubscription(world, subscription.id));
  });

  control.post("/subscriptions/:id/:action", async (c) => {
    const { id, action } = c.req.param();
    if (!Object.hasOwn(SUBSCRIPTION_ACTIONS, action)) throw new Refusal(404, "Unknown action");
    await runAndDeliver(
      world,
      () => SUBSCRIPTION_ACTIONS[action as keyof typeof SUBSCRIPTION_ACTIONS](world, id),
    );
    return c.json(getSubscription(world, id));
  });
}

const INVOICE_ACTIONS = { void: voidInvoice, convert: convertInvoice };

function addInvoices(control: Hono, world: OpenWorld): void {
  control.post("/invoices/:id/pay", async (c) => {
    const invoice = findInvoice(world, c.req.param("id"));
    const request = validate(InvoicePayment, await readBody(c.req.raw) ?? {});
    const { id } = await runAndDeliver(world, () => {
      const method = request.payment_type as MethodName;
      const started = startInvoicePayment(world, invoice.id, method);
      return request.only_start ? started : simulate(world, "pay", started);
    });
    return c.json({
      invoice: getInvoice(world, invoice.id),
      transaction: describeTransaction(world, world.transactions.get(id)!),
    });
  });

  control.post("/invoices/:id/:action", async (c) => {
    const { id, action } = c.req.param();
    if (!Object.hasOwn(INVOICE_ACTIONS, action)) throw new Refusal(404, "Unknown action");
    const body = await readBody(c.req.raw);
    await runAndDeliver(
      world,
      () => INVOICE_ACTIONS[action as keyof typeof INVOICE_ACTIONS](world, id, body),
    );
    return c.json(getInvoice(world, id));
  });
}

function addSnapPages(control: Hono, world: OpenWorld): void {
  control.get("/snap", (c) => c.json(listSnapPages(world, c.req.query())));
  control.get(
    "/snap/:token",
    (c) => c.json(describeSnapPage(world, findSnapPage(world, c.req.param("token")))),
  );
  control.post("/snap/:token/pay", async (c) => {
    const token = c.req.param("token");
    const request = validate(SnapPayment, await readBody(c.req.raw) ?? {});
    const { id } = await runAndDeliver(
      world,
      () => answerThreeDs(world, startSnapPayment(world, token, request), request.three_ds),
    );
    return c.json({
      ...describeSnapPage(world, findSnapPage(world, token)),
      transaction: describeTransaction(world, world.transactions.get(id)!),
    });
  });
}

function startSnapPayment(world: OpenWorld, token: string, request: z.output<typeof SnapPayment>) {
  const { method, card_number: number, saved_token_id: savedToken, save_card: isSaved } = request;
  switch (method) {
    case "credit_card":
      return payByCard(world, token, { number, savedToken, isSaved, ...CARD_FACTS });
    case "google_pay":
      return payByGooglePay(world, token);
    default:
      return payByOther(world, token, method as OtherMethod);
  }
}

function addClock(control: Hono, world: OpenWorld, closing: AbortSignal): void {
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
    if (closing.aborted) throw new Refusal(503, "The sandbox is shutting down");
    await runAndDeliver(world, () => world.saveState());
    return c.json(clock());
  });
}

function addWebhooks(control: Hono, world: OpenWorld): void {
  control.get("/webhooks", (c) => c.json(listWebhooks(world, c.req.query())));
  control.post("/webhooks/settle", async (c) => {
    await runAndDeliver(world, () => world.notifier.release());
    await world.notifier.idle();
    return c.json({ waiting: [...world.webhooks.find("state:waiting")].length });
  });
  control.post("/webhooks/:id/resend", async (c) => {
    const webhook = world.webhooks.get(c.req.param("id"));
    if (!webhook) throw new Refusal(404, "Webhook not found");
    await runAndDeliver(world, () => world.notifier.resend(webhook));
    return c.json(describeWebhook(world.webhooks.get(webhook.id)!));
  });
}

function addFaults(control: Hono, world: OpenWorld): void {
  control.get("/faults", (c) => c.json(world.faults.list()));
  control.post("/faults", async (c) => {
    return c.json(world.faults.add(validate(NewFault, await readBody(c.req.raw))), 201);
  });
  control.delete("/faults", (c) => {
    world.faults.clear();
    return c.json([]);
  });
}

function addSettings(control: Hono, world: OpenWorld): void {
  control.get("/settings", (c) => c.json(world.settings));
  control.patch("/settings", async (c) => {
    Object.assign(world.settings, validate(NewSettings, await readBody(c.req.raw)));
    await runAndDeliver(world, () => world.saveState());
    return c.json(world.settings);
  });
}

/**
 * Returns after the webhooks have been attempted and the results are in the state file, so that the
 * caller sees them.
 */
async function runAndDeliver<R>(world: OpenWorld, work: () => R): Promise<R> {
  const { result, delivered } = world.notifier.trackDeliveries(work);
  await world.committed();
  await delivered;
  await world.committed();
  return result;
}

/**
 * `GET /_sandbox/changes`: sends the message "changed" at the start and after changes, without
 * saying what changed. At most one message is pending, so a slow page does not accumulate messages.
 */
async function streamChanges(
  stream: SSEStreamingApi,
  watch: (listener: () => void) => () => void,
  closing: AbortSignal,
): Promise<void> {
  let hasChanged = true;
  let wake = () => {};
  const onChange = () => {
    hasChanged = true;
    wake();
  };
  const unwatch = watch(onChange);
  stream.onAbort(onChange);
  closing.addEventListener("abort", onChange);
  while (!stream.aborted && !closing.aborted) {
    if (hasChanged) {
      hasChanged = false;
      await stream.writeSSE({ data: "changed" });
    } else {
      await new Promise<void>((resolve) => wake = resolve);
    }
  }
  closing.removeEventListener("abort", onChange);
  unwatch();
}
