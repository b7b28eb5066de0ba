import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { checkInvoiceStatus } from "../../core/invoices/check_invoice_status.ts";
import { checkOverdueInvoices } from "../../core/invoices/check_overdue_invoices.ts";
import { canResendInvoice, newInvoice } from "../../core/invoices/create.ts";
import { SCHEDULE } from "../../core/tasks/schedule.ts";
import { pauseAfter } from "../support/database/pause_after.ts";
import { notifyAndRead } from "../support/gateway/notifications.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { openPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import {
  CREATE,
  DAY,
  dayOf,
  type Invoice,
  invoiceDue,
  MINUTE,
  openInvoices,
  parseInvoice,
  readEventNames,
  SECOND,
  sentInvoices,
  type TestInvoices,
} from "../support/records/invoices.ts";

/**
 * `answer_lost`: the invoice is created, but the response is lost. `reset`: the request is lost.
 */
type Loss = "answer_lost" | "reset";
const LOSSES: Loss[] = ["answer_lost", "reset"];

/** Creates an invoice whose outcome is unknown. */
async function createWithUnknownOutcome(
  invoices: TestInvoices,
  loss: Loss,
  request: Json,
  headers: HeadersInit = {},
): Promise<Invoice> {
  await invoices.sandbox.fault("invoice_create", loss);
  const answer = await invoices.post("/invoices/", request, headers);
  const problem = await assertProblem(answer, 502, "gateway_unreachable");
  assert.equal(problem.outcome, "unknown");
  const invoice = await invoices.find(problem.invoice_id!);
  assert.equal(problem.order_id, invoice.order_id);
  const { status, gateway_invoice_id, payment_link_url, pdf_url } = invoice;
  assert.deepEqual([status, gateway_invoice_id, payment_link_url, pdf_url], [
    "pending",
    null,
    null,
    null,
  ]);
  return invoice;
}

/** Fails unless the invoice was sent this many times, each time with the same key and body. */
function assertSentTimes(invoices: TestInvoices, { id }: Invoice, times: number): void {
  const sent = sentInvoices(invoices);
  assert.equal(sent.length, times);
  for (const each of sent) assert.deepEqual(each, { ...sent[0], key: id });
}

async function assertCreated(invoices: TestInvoices, { id }: Invoice): Promise<Invoice> {
  const created = await invoices.find(id);
  assert.equal(created.status, "sent");
  assert.equal((await invoices.atGateway(created)).order_id, created.order_id);
  assert.ok(created.payment_link_url?.endsWith(created.gateway_invoice_id!));
  assert.deepEqual(await readEventNames(invoices, created), ["invoice_created"]);
  return created;
}

for (const loss of LOSSES) {
  Deno.test(`invoice creation, ${loss}: the job resends it, and one invoice is created`, async () => {
    await using invoices = await openInvoices();
    const invoice = await createWithUnknownOutcome(invoices, loss, invoiceDue(invoices.now()));
    await invoices.runJobs();
    assertSentTimes(invoices, invoice, 1);
    await invoices.advance(MINUTE);
    await invoices.runJobs();
    await assertCreated(invoices, invoice);
    assertSentTimes(invoices, invoice, 2);
    await invoices.advance(10 * MINUTE);
    await invoices.runSchedule();
    assertSentTimes(invoices, invoice, 2);
    await assertCreated(invoices, invoice);
  });

  Deno.test(`invoice creation, ${loss}: a retry with the same key resends it and returns the invoice`, async () => {
    await using invoices = await openInvoices();
    const [request, key] = [invoiceDue(invoices.now()), newKey()];
    const invoice = await createWithUnknownOutcome(invoices, loss, request, key);
    const again = await invoices.post("/invoices/", request, key);
    assert.equal(again.headers.get("location"), `/invoices/${invoice.id}/`);
    assert.deepEqual(await parseInvoice(again), await assertCreated(invoices, invoice));
    await invoices.advance(2 * MINUTE);
    await invoices.runSchedule();
    assertSentTimes(invoices, invoice, 2);
    const thirdResponse = await invoices.post("/invoices/", request, key);
    assert.ok(isReplayed(thirdResponse));
    assert.equal((await parseInvoice(thirdResponse)).id, invoice.id);
    assert.equal((await (await invoices.get("/invoices/")).json()).length, 1);
  });

  Deno.test(`invoice creation, ${loss}: is not resent after the gateway's idempotency key has expired`, async () => {
    await using invoices = await openInvoices();
    const [request, key] = [invoiceDue(invoices.now()), newKey()];
    const invoice = await createWithUnknownOutcome(invoices, loss, request, key);
    for (const pause of [5 * MINUTE, MINUTE, DAY - 10 * MINUTE]) {
      await invoices.advance(pause);
      const again = await invoices.post("/invoices/", request, key);
      const problem = await assertProblem(again, 504, "gateway_timeout");
      assert.deepEqual([problem.outcome, problem.invoice_id], ["unknown", invoice.id]);
      await invoices.runSchedule();
    }
    await invoices.advance(10 * DAY);
    await invoices.runSchedule();
    assertSentTimes(invoices, invoice, 1);
    assert.equal((await invoices.find(invoice.id)).status, "pending");
    assert.deepEqual(await readEventNames(invoices, invoice), []);
    // The order id stays reserved, and the invoice cannot be voided.
    const taken = { ...invoiceDue(invoices.now()), order_id: invoice.order_id };
    await assertProblem(await invoices.post("/invoices/", taken), 400, "duplicate_order");
    await assertProblem(await invoices.void(invoice.id), 400, "invalid_state");
  });
}

Deno.test("invoice creation: is not resent if the gateway's idempotency key could expire during the call", async () => {
  for (const [wait, times] of [[4 * MINUTE + 35 * SECOND, 2], [4 * MINUTE + 41 * SECOND, 1]]) {
    await using invoices = await openInvoices();
    const invoice = await createWithUnknownOutcome(
      invoices,
      "answer_lost",
      invoiceDue(invoices.now()),
    );
    await invoices.advance(wait!);
    await invoices.runJobs();
    assertSentTimes(invoices, invoice, times!);
    assert.equal((await invoices.find(invoice.id)).status, times === 2 ? "sent" : "pending");
  }
});

Deno.test("invoice creation: is not resent if the clock was set back", async () => {
  let now = Date.now();
  await using invoices = await openInvoices({ now: () => now });
  const invoice = await createWithUnknownOutcome(invoices, "answer_lost", invoiceDue(now));
  now -= 10 * MINUTE;
  await checkInvoiceStatus(invoices.app.service, invoice.id);
  assertSentTimes(invoices, invoice, 1);
});

Deno.test("invoice with an unknown outcome: is adopted when a notification arrives, and can be paid", async () => {
  await using invoices = await openInvoices();
  const [request, key] = [invoiceDue(invoices.now()), newKey()];
  const invoice = await createWithUnknownOutcome(invoices, "answer_lost", request, key);
  const gatewayId = await findIdAtGateway(invoices, invoice);
  await invoices.advance(10 * MINUTE);
  await invoices.runSchedule();
  assert.equal((await invoices.find(invoice.id)).status, "pending");
  await invoices.sandbox.control(`invoices/${gatewayId}/pay`, { only_start: true });
  const [pending] = invoices.sandbox.hooks;
  await notifyAndRead(invoices, pending!.body);
  await invoices.runJobs();
  const adopted = await assertCreated(invoices, invoice);
  assert.equal(adopted.gateway_invoice_id, gatewayId);
  const [payment] = await invoices.paymentsOf(invoice);
  assert.deepEqual([payment!.transaction_status, payment!.invoice_id], ["pending", invoice.id]);
  const again = await invoices.post("/invoices/", request, key);
  assert.deepEqual(await parseInvoice(again), adopted);

  await invoices.sandbox.control(`transactions/${payment!.transaction_id}/pay`);
  await notifyAndRead(invoices, invoices.sandbox.hooks.at(-1)!.body);
  await invoices.runJobs();
  assert.equal((await invoices.find(invoice.id)).status, "paid");
  assert.deepEqual(await readEventNames(invoices, invoice), ["invoice_created", "invoice_paid"]);
  assertSentTimes(invoices, invoice, 1);
});

Deno.test("invoice with an unknown outcome: becomes paid if the first notification reports its payment", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await createWithUnknownOutcome(
    invoices,
    "answer_lost",
    invoiceDue(invoices.now()),
  );
  const gatewayId = await findIdAtGateway(invoices, invoice);
  await invoices.advance(DAY);
  await invoices.sandbox.control(`invoices/${gatewayId}/pay`);
  await invoices.runJobs();
  const paid = await invoices.find(invoice.id);
  assert.equal(paid.status, "paid");
  assert.deepEqual(await readEventNames(invoices, invoice), ["invoice_created", "invoice_paid"]);
  assert.deepEqual((await invoices.paymentsOf(paid)).map(({ is_paid }) => is_paid), [true]);
});

Deno.test("invoice with an unknown outcome: a notification that cannot be confirmed yet is applied later", async () => {
  await using invoices = await openInvoices();
  const invoice = await createWithUnknownOutcome(
    invoices,
    "answer_lost",
    invoiceDue(invoices.now()),
  );
  const gatewayId = await findIdAtGateway(invoices, invoice);
  await invoices.advance(10 * MINUTE);
  await invoices.runSchedule();
  await invoices.sandbox.control(`invoices/${gatewayId}/pay`);
  await invoices.sandbox.fault("invoice_get", "error_500", { count: 1_000 });
  const notification = await notifyAndRead(invoices, invoices.sandbox.hooks.at(-1)!.body);
  assert.equal(notification.status, "received");
  assert.equal((await invoices.find(invoice.id)).status, "pending");
  await invoices.sandbox.control("faults", undefined, "DELETE");
  await invoices.runJobs();
  assert.equal((await invoices.find(invoice.id)).status, "paid");
  assert.deepEqual(await readEventNames(invoices, invoice), ["invoice_created", "invoice_paid"]);
});

Deno.test("invoice creation: another instance resends it if the first one crashes during the call", async () => {
  await using crashingInstance = await openInvoices();
  const held = crashingInstance.relay.holdNext(CREATE);
  const answer = crashingInstance.post("/invoices/", invoiceDue(crashingInstance.now()));
  await held.arrived;
  // No job was queued before the crash, so the schedule has to find the invoice.
  await using otherInstance = await openPayments({
    databaseUrl: crashingInstance.databaseUrl,
    gatewayUrl: crashingInstance.sandbox.url,
    now: () => Date.now() + 2 * MINUTE,
  });
  await checkOverdueInvoices(otherInstance.app.service);
  await runDueJobs(otherInstance.app);
  const [{ id }] = await (await otherInstance.get("/invoices/")).json();
  const created = await crashingInstance.find(id);
  assert.equal(created.status, "sent");
  held.release();
  assert.equal((await parseInvoice(await answer)).gateway_invoice_id, created.gateway_invoice_id);
  assert.deepEqual(await readEventNames(crashingInstance, created), ["invoice_created"]);
});

/** Two minutes later, a task of another instance sends the pending invoice and gets no response. */
async function sendByOtherInstance(invoices: TestInvoices): Promise<void> {
  const { databaseUrl, sandbox, now } = invoices;
  await invoices.advance(2 * MINUTE);
  await using other = await openPayments({ databaseUrl, gatewayUrl: sandbox.url, now });
  await sandbox.fault("invoice_create", "answer_lost");
  await checkOverdueInvoices(other.app.service);
  await runDueJobs(other.app);
}

Deno.test("invoice creation: a process that was paused for minutes does not send or fail what another instance has sent", async () => {
  const paused = pauseAfter("insert invoice");
  await using invoices = await openInvoices(paused);
  const pausedRequest = invoices.post("/invoices/", invoiceDue(invoices.now()));
  await paused.arrived;
  await sendByOtherInstance(invoices);
  // The gateway has forgotten the idempotency key, but it has an invoice with this order id.
  await invoices.advance(5 * MINUTE);
  paused.continue();
  const problem = await assertProblem(await pausedRequest, 504, "gateway_timeout");
  assert.equal(problem.outcome, "unknown");
  assert.equal(invoices.relay.times(CREATE), 0);
  assert.equal((await invoices.find(problem.invoice_id!)).status, "pending");
});

Deno.test("invoice creation: a rejection of a paused request does not fail what another instance has sent", async () => {
  const paused = pauseAfter("insert invoice");
  await using invoices = await openInvoices(paused);
  const pausedRequest = invoices.post("/invoices/", invoiceDue(invoices.now()));
  await paused.arrived;
  await sendByOtherInstance(invoices);
  invoices.relay.intercept = () => Response.json({ error_messages: ["no"] }, { status: 400 });
  paused.continue();
  const problem = await (await pausedRequest).json();
  assert.equal(problem.outcome, "unknown");
  assert.equal((await invoices.find(problem.invoice_id)).status, "pending");
});

Deno.test("invoice creation: a rejection of the resent request does not fail the invoice", async () => {
  for (const [status, message] of [[409, "Duplicate order id"], [400, "no"]] as const) {
    await using invoices = await openInvoices();
    const [request, key] = [invoiceDue(invoices.now()), newKey()];
    const invoice = await createWithUnknownOutcome(invoices, "answer_lost", request, key);
    invoices.relay.intercept = () => Response.json({ error_messages: [message] }, { status });
    const again = await invoices.post("/invoices/", request, key);
    assert.equal(again.status, 400);
    const problem = await again.json();
    assert.deepEqual([problem.outcome, problem.invoice_id], ["unknown", invoice.id]);
    assert.equal((await invoices.find(invoice.id)).status, "pending");
    invoices.relay.intercept = (_request, pass) => pass();
    await invoices.advance(MINUTE);
    await invoices.runJobs();
    await assertCreated(invoices, invoice);
  }
});

/** Responses that do not say whether the invoice was created. */
const UNCLEAR_FAULTS = ["error_500", "error_503", "hidden_500", "broken_json", "html"];

for (const fault of UNCLEAR_FAULTS) {
  Deno.test(`invoice creation: ${fault} is an unknown outcome, and a retry with the same key succeeds`, async () => {
    await using invoices = await openInvoices();
    const [request, key] = [invoiceDue(invoices.now()), newKey()];
    await invoices.sandbox.fault("invoice_create", fault);
    const answer = await invoices.post("/invoices/", request, key);
    const problem = await assertProblem(answer, 400, "gateway_error");
    assert.equal(problem.outcome, "unknown");
    const invoice = await invoices.find(problem.invoice_id!);
    assert.equal(invoice.status, "pending");
    const again = await parseInvoice(await invoices.post("/invoices/", request, key));
    assert.equal(again.id, invoice.id);
    await assertCreated(invoices, invoice);
    assertSentTimes(invoices, invoice, 2);
  });
}

Deno.test("invoice creation: a 202 response is an unknown outcome", async () => {
  await using invoices = await openInvoices();
  const running = { status_code: "202", status_message: "still running" };
  invoices.relay.intercept = () => Response.json(running, { status: 202 });
  const answer = await invoices.post("/invoices/", invoiceDue(invoices.now()));
  const { outcome, invoice_id } = await assertProblem(answer, 400, "gateway_error");
  assert.equal(outcome, "unknown");
  assert.equal((await invoices.find(invoice_id!)).status, "pending");
});

Deno.test("invoice creation: fails if the gateway is rate limiting, and a retry with the same key uses the same ids", async () => {
  await using invoices = await openInvoices();
  const [request, key] = [invoiceDue(invoices.now()), newKey()];
  await invoices.sandbox.fault("invoice_create", "rate_limit", { retry_after: 7 });
  const rateLimited = await invoices.post("/invoices/", request, key);
  assert.equal(rateLimited.headers.get("retry-after"), "7");
  const { outcome, order_id } = await assertProblem(rateLimited, 400, "gateway_rate_limited");
  assert.equal(outcome, "refused");
  const created = await parseInvoice(await invoices.post("/invoices/", request, key));
  assert.equal(created.order_id, order_id);
  const sent = sentInvoices(invoices).map(({ body }) => [body.order_id, body.invoice_number]);
  assert.deepEqual(sent, [
    [order_id, created.invoice_number],
    [order_id, created.invoice_number],
  ]);
});

Deno.test("invoice creation: a retry with the same key is accepted after the due date", async () => {
  let now = Date.parse("2031-05-05T16:59:00Z");
  await using invoices = await openInvoices({ now: () => now });
  const request = { ...invoiceDue(now), due_date: dayOf(now) };
  const key = newKey();
  const invoice = await createWithUnknownOutcome(invoices, "answer_lost", request, key);
  now += 2 * MINUTE;
  const again = await parseInvoice(await invoices.post("/invoices/", request, key));
  assert.equal(again.id, invoice.id);
  const withNewKey = await invoices.post("/invoices/", request, newKey());
  await assertProblem(withNewKey, 400, "validation_error");
});

Deno.test("invoice creation: a second request with the same key is rejected while the first is in progress", async () => {
  await using invoices = await openInvoices();
  const [request, key] = [invoiceDue(invoices.now()), newKey()];
  const held = invoices.relay.holdAnswer(CREATE);
  const firstRequest = invoices.post("/invoices/", request, key);
  await held.arrived;
  const secondResponse = await invoices.post("/invoices/", request, key);
  assert.ok(secondResponse.headers.get("retry-after"));
  await assertProblem(secondResponse, 409, "idempotency_in_progress");
  held.release();
  const invoice = await parseInvoice(await firstRequest);
  assertSentTimes(invoices, invoice, 1);
});

Deno.test("invoice creation: the invoice becomes paid if the customer pays before the gateway's response arrives", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const held = invoices.relay.holdAnswer(CREATE);
  const key = newKey();
  const request = { ...invoiceDue(invoices.now()), order_id: randomUUID() };
  const answer = invoices.post("/invoices/", request, key);
  await held.arrived;
  const [{ id }] = await (await invoices.get("/invoices/")).json();
  const pendingInvoice = await invoices.find(id);
  const gatewayId = await findIdAtGateway(invoices, pendingInvoice);
  await invoices.sandbox.control(`invoices/${gatewayId}/pay`);
  held.release();
  const answered = await parseInvoice(await answer);
  assert.equal(answered.gateway_invoice_id, gatewayId);
  await invoices.runJobs();
  const paid = await invoices.find(id);
  assert.deepEqual([paid.status, paid.gateway_invoice_id], ["paid", gatewayId]);
  assert.deepEqual(await readEventNames(invoices, paid), ["invoice_created", "invoice_paid"]);
});

/** Finds the gateway's id of an invoice whose response was lost, by a request with the same key. */
async function findIdAtGateway(invoices: TestInvoices, { id }: Invoice): Promise<string> {
  const { body } = sentInvoices(invoices).find(({ key }) => key === id)!;
  const headers = { "X-Idempotency-Key": id };
  const again = await invoices.sandbox.call("POST", "/v1/invoices", body, headers);
  assert.equal(again.http, 201, again.text);
  return again.body.id;
}

Deno.test("check_overdue_invoices: runs often enough to resend an invoice after a crash during the call", () => {
  const { cron } = SCHEDULE.find(({ name }) => name === "check_overdue_invoices")!;
  const [, minutes] = cron.match(/^\*\/(\d+) \* \* \* \*$/) ?? [];
  const items = [{ description: "Coffee", price: 22_000, quantity: 2 }];
  const input = { customer_name: "Budi", due_date: "2099-12-31", items };
  const invoice = newInvoice(input, { userId: "alice" }, new Date());
  // The schedule may have run just before the invoice became due.
  const latest = invoice.check_at!.getTime() + Number(minutes) * 60_000;
  assert.ok(canResendInvoice(invoice, latest));
});
