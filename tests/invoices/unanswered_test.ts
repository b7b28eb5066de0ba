import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { checkInvoiceStatus } from "../../core/invoices/check_invoice_status.ts";
import { checkOverdueInvoices } from "../../core/invoices/check_overdue_invoices.ts";
import { canResendInvoice, newInvoice } from "../../core/invoices/create.ts";
import { SCHEDULE } from "../../core/schedule.ts";
import { notified } from "../support/gateway/notifications.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { openPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import {
  DAY,
  dayOf,
  type Invoice,
  invoiceDue,
  MAKING,
  MINUTE,
  namesTold,
  openInvoices,
  parseInvoice,
  SECOND,
  sentInvoices,
  type TestInvoices,
} from "../support/records/invoices.ts";

/** Made, and the answer lost; or never arrived. */
type Loss = "answer_lost" | "reset";
const LOSSES: Loss[] = ["answer_lost", "reset"];

/** An invoice of which nobody was told whether it was made. */
async function createInVain(
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

/** That whatever was sent was one and the same invoice, byte for byte. */
function assertSentAs(invoices: TestInvoices, { id }: Invoice, times: number): void {
  const sent = sentInvoices(invoices);
  assert.equal(sent.length, times);
  for (const each of sent) assert.deepEqual(each, { ...sent[0], key: id });
}

async function assertMade(invoices: TestInvoices, { id }: Invoice): Promise<Invoice> {
  const made = await invoices.find(id);
  assert.equal(made.status, "sent");
  assert.equal((await invoices.atGateway(made)).order_id, made.order_id);
  assert.ok(made.payment_link_url?.endsWith(made.gateway_invoice_id!));
  assert.deepEqual(await namesTold(invoices, made), ["invoice_created"]);
  return made;
}

for (const loss of LOSSES) {
  Deno.test(`${loss}: the job makes sure that there is the invoice, once`, async () => {
    await using invoices = await openInvoices();
    const invoice = await createInVain(invoices, loss, invoiceDue(invoices.now()));
    await invoices.work();
    assertSentAs(invoices, invoice, 1);
    await invoices.advance(MINUTE);
    await invoices.work();
    await assertMade(invoices, invoice);
    assertSentAs(invoices, invoice, 2);
    await invoices.advance(10 * MINUTE);
    await invoices.tick();
    assertSentAs(invoices, invoice, 2);
    await assertMade(invoices, invoice);
  });

  Deno.test(`${loss}: so does the caller's own retry, which is answered with it`, async () => {
    await using invoices = await openInvoices();
    const [request, key] = [invoiceDue(invoices.now()), newKey()];
    const invoice = await createInVain(invoices, loss, request, key);
    const again = await invoices.post("/invoices/", request, key);
    assert.equal(again.headers.get("location"), `/invoices/${invoice.id}/`);
    assert.deepEqual(await parseInvoice(again), await assertMade(invoices, invoice));
    await invoices.advance(2 * MINUTE);
    await invoices.tick();
    assertSentAs(invoices, invoice, 2);
    const third = await invoices.post("/invoices/", request, key);
    assert.ok(isReplayed(third));
    assert.equal((await parseInvoice(third)).id, invoice.id);
    assert.equal((await (await invoices.get("/invoices/")).json()).length, 1);
  });

  Deno.test(`${loss}: after the gateway's window it is never sent again`, async () => {
    await using invoices = await openInvoices();
    const [request, key] = [invoiceDue(invoices.now()), newKey()];
    const invoice = await createInVain(invoices, loss, request, key);
    for (const pause of [5 * MINUTE, MINUTE, DAY - 10 * MINUTE]) {
      await invoices.advance(pause);
      const again = await invoices.post("/invoices/", request, key);
      const problem = await assertProblem(again, 504, "gateway_timeout");
      assert.deepEqual([problem.outcome, problem.invoice_id], ["unknown", invoice.id]);
      await invoices.tick();
    }
    await invoices.advance(10 * DAY);
    await invoices.tick();
    assertSentAs(invoices, invoice, 1);
    assert.equal((await invoices.find(invoice.id)).status, "pending");
    assert.deepEqual(await namesTold(invoices, invoice), []);
    // Nor does anybody else get its order, or a void of it.
    const taken = { ...invoiceDue(invoices.now()), order_id: invoice.order_id };
    await assertProblem(await invoices.post("/invoices/", taken), 400, "duplicate_order");
    await assertProblem(await invoices.void(invoice.id), 400, "invalid_state");
  });
}

Deno.test("the window ends as long before the gateway's as a call may take", async () => {
  for (const [wait, times] of [[4 * MINUTE + 35 * SECOND, 2], [4 * MINUTE + 41 * SECOND, 1]]) {
    await using invoices = await openInvoices();
    const invoice = await createInVain(invoices, "answer_lost", invoiceDue(invoices.now()));
    await invoices.advance(wait!);
    await invoices.work();
    assertSentAs(invoices, invoice, times!);
    assert.equal((await invoices.find(invoice.id)).status, times === 2 ? "sent" : "pending");
  }
});

Deno.test("a clock that was put back does not open the window again", async () => {
  let now = Date.now();
  await using invoices = await openInvoices({ now: () => now });
  const invoice = await createInVain(invoices, "answer_lost", invoiceDue(now));
  now -= 10 * MINUTE;
  await checkInvoiceStatus(invoices.app.deps, invoice.id);
  assertSentAs(invoices, invoice, 1);
});

Deno.test("one that was made after all is taken over when the gateway tells of it, and paid", async () => {
  await using invoices = await openInvoices();
  const [request, key] = [invoiceDue(invoices.now()), newKey()];
  const invoice = await createInVain(invoices, "answer_lost", request, key);
  const gatewayId = await idAtGateway(invoices, invoice);
  await invoices.advance(10 * MINUTE);
  await invoices.tick();
  assert.equal((await invoices.find(invoice.id)).status, "pending");
  await invoices.sandbox.control(`invoices/${gatewayId}/pay`, { only_start: true });
  const [pending] = invoices.sandbox.hooks;
  await notified(invoices, pending!.body);
  await invoices.work();
  const adopted = await assertMade(invoices, invoice);
  assert.equal(adopted.gateway_invoice_id, gatewayId);
  const [payment] = await invoices.paymentsOf(invoice);
  assert.deepEqual([payment!.transaction_status, payment!.invoice_id], ["pending", invoice.id]);
  const again = await invoices.post("/invoices/", request, key);
  assert.deepEqual(await parseInvoice(again), adopted);

  await invoices.sandbox.control(`transactions/${payment!.transaction_id}/pay`);
  await notified(invoices, invoices.sandbox.hooks.at(-1)!.body);
  await invoices.work();
  assert.equal((await invoices.find(invoice.id)).status, "paid");
  assert.deepEqual(await namesTold(invoices, invoice), ["invoice_created", "invoice_paid"]);
  assertSentAs(invoices, invoice, 1);
});

Deno.test("the first that is heard of it is that it was paid: it is made and paid", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await createInVain(invoices, "answer_lost", invoiceDue(invoices.now()));
  const gatewayId = await idAtGateway(invoices, invoice);
  await invoices.advance(DAY);
  await invoices.sandbox.control(`invoices/${gatewayId}/pay`);
  await invoices.work();
  const paid = await invoices.find(invoice.id);
  assert.equal(paid.status, "paid");
  assert.deepEqual(await namesTold(invoices, invoice), ["invoice_created", "invoice_paid"]);
  assert.deepEqual((await invoices.paymentsOf(paid)).map(({ is_paid }) => is_paid), [true]);
});

Deno.test("a notification of it that cannot be confirmed yet is finished when it can be", async () => {
  await using invoices = await openInvoices();
  const invoice = await createInVain(invoices, "answer_lost", invoiceDue(invoices.now()));
  const gatewayId = await idAtGateway(invoices, invoice);
  await invoices.advance(10 * MINUTE);
  await invoices.tick();
  await invoices.sandbox.control(`invoices/${gatewayId}/pay`);
  await invoices.sandbox.fault("invoice_get", "error_500", { count: 1_000 });
  const told = await notified(invoices, invoices.sandbox.hooks.at(-1)!.body);
  assert.equal(told.status, "received");
  assert.equal((await invoices.find(invoice.id)).status, "pending");
  await invoices.sandbox.control("faults", undefined, "DELETE");
  await invoices.work();
  assert.equal((await invoices.find(invoice.id)).status, "paid");
  assert.deepEqual(await namesTold(invoices, invoice), ["invoice_created", "invoice_paid"]);
});

Deno.test("one whose making was cut short by a crash is finished by another instance, in time", async () => {
  await using dying = await openInvoices();
  const held = dying.relay.holdNext(MAKING);
  const answer = dying.post("/invoices/", invoiceDue(dying.now()));
  await held.arrived;
  // Nobody is left who could queue a job for it: the clock has to.
  await using other = await openPayments({
    databaseUrl: dying.databaseUrl,
    gatewayUrl: dying.sandbox.url,
    now: () => Date.now() + 2 * MINUTE,
  });
  await checkOverdueInvoices(other.app.deps);
  await runDueJobs(other.app);
  const [{ id }] = await (await other.get("/invoices/")).json();
  const made = await dying.find(id);
  assert.equal(made.status, "sent");
  held.release();
  assert.equal((await parseInvoice(await answer)).gateway_invoice_id, made.gateway_invoice_id);
  assert.deepEqual(await namesTold(dying, made), ["invoice_created"]);
});

Deno.test("a refusal of the second try says nothing about the first: the invoice is not given up", async () => {
  for (const [status, message] of [[409, "Duplicate order id"], [400, "no"]] as const) {
    await using invoices = await openInvoices();
    const [request, key] = [invoiceDue(invoices.now()), newKey()];
    const invoice = await createInVain(invoices, "answer_lost", request, key);
    invoices.relay.intercept = () => Response.json({ error_messages: [message] }, { status });
    const again = await invoices.post("/invoices/", request, key);
    assert.equal(again.status, 400);
    const problem = await again.json();
    assert.deepEqual([problem.outcome, problem.invoice_id], ["unknown", invoice.id]);
    assert.equal((await invoices.find(invoice.id)).status, "pending");
    invoices.relay.intercept = (_request, pass) => pass();
    await invoices.advance(MINUTE);
    await invoices.work();
    await assertMade(invoices, invoice);
  }
});

/** Ends of which nobody knows whether they were one. */
const UNKNOWN = ["error_500", "error_503", "hidden_500", "broken_json", "html"];

for (const fault of UNKNOWN) {
  Deno.test(`${fault} to a creation is an unknown end, and the same key ends it well`, async () => {
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
    await assertMade(invoices, invoice);
    assertSentAs(invoices, invoice, 2);
  });
}

Deno.test("one that is still running at the gateway is an unknown end, too", async () => {
  await using invoices = await openInvoices();
  const running = { status_code: "202", status_message: "still running" };
  invoices.relay.intercept = () => Response.json(running, { status: 202 });
  const answer = await invoices.post("/invoices/", invoiceDue(invoices.now()));
  const { outcome, invoice_id } = await assertProblem(answer, 400, "gateway_error");
  assert.equal(outcome, "unknown");
  assert.equal((await invoices.find(invoice_id!)).status, "pending");
});

Deno.test("too much for the gateway: nothing was done, and the same key tries under the same names", async () => {
  await using invoices = await openInvoices();
  const [request, key] = [invoiceDue(invoices.now()), newKey()];
  await invoices.sandbox.fault("invoice_create", "rate_limit", { retry_after: 7 });
  const busy = await invoices.post("/invoices/", request, key);
  assert.equal(busy.headers.get("retry-after"), "7");
  const { outcome, order_id } = await assertProblem(busy, 400, "gateway_rate_limited");
  assert.equal(outcome, "refused");
  const made = await parseInvoice(await invoices.post("/invoices/", request, key));
  assert.equal(made.order_id, order_id);
  const sent = sentInvoices(invoices).map(({ body }) => [body.order_id, body.invoice_number]);
  assert.deepEqual(sent, [
    [order_id, made.invoice_number],
    [order_id, made.invoice_number],
  ]);
});

Deno.test("a retry with its key is no new request: its due date may be over by then", async () => {
  let now = Date.parse("2031-05-05T16:59:00Z");
  await using invoices = await openInvoices({ now: () => now });
  const request = { ...invoiceDue(now), due_date: dayOf(now) };
  const key = newKey();
  const invoice = await createInVain(invoices, "answer_lost", request, key);
  now += 2 * MINUTE;
  const again = await parseInvoice(await invoices.post("/invoices/", request, key));
  assert.equal(again.id, invoice.id);
  const other = await invoices.post("/invoices/", request, newKey());
  await assertProblem(other, 400, "validation_error");
});

Deno.test("while the first is under way the same key waits, and nothing is sent twice", async () => {
  await using invoices = await openInvoices();
  const [request, key] = [invoiceDue(invoices.now()), newKey()];
  const held = invoices.relay.holdAnswer(MAKING);
  const first = invoices.post("/invoices/", request, key);
  await held.arrived;
  const second = await invoices.post("/invoices/", request, key);
  assert.ok(second.headers.get("retry-after"));
  await assertProblem(second, 409, "idempotency_in_progress");
  held.release();
  const invoice = await parseInvoice(await first);
  assertSentAs(invoices, invoice, 1);
});

Deno.test("the customer pays before the gateway's answer arrives: nothing is lost of either", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const held = invoices.relay.holdAnswer(MAKING);
  const key = newKey();
  const request = { ...invoiceDue(invoices.now()), order_id: randomUUID() };
  const answer = invoices.post("/invoices/", request, key);
  await held.arrived;
  const [{ id }] = await (await invoices.get("/invoices/")).json();
  const waiting = await invoices.find(id);
  const gatewayId = await idAtGateway(invoices, waiting);
  await invoices.sandbox.control(`invoices/${gatewayId}/pay`);
  held.release();
  const answered = await parseInvoice(await answer);
  assert.equal(answered.gateway_invoice_id, gatewayId);
  await invoices.work();
  const paid = await invoices.find(id);
  assert.deepEqual([paid.status, paid.gateway_invoice_id], ["paid", gatewayId]);
  assert.deepEqual(await namesTold(invoices, paid), ["invoice_created", "invoice_paid"]);
});

/** The gateway's id of an invoice whose answer nobody got: it gives the same answer to its key again. */
async function idAtGateway(invoices: TestInvoices, { id }: Invoice): Promise<string> {
  const { body } = sentInvoices(invoices).find(({ key }) => key === id)!;
  const headers = { "X-Idempotency-Key": id };
  const again = await invoices.sandbox.call("POST", "/v1/invoices", body, headers);
  assert.equal(again.http, 201, again.text);
  return again.body.id;
}

Deno.test("the schedule comes by often enough to send one again whose process died in the call", () => {
  const { cron } = SCHEDULE.find(({ name }) => name === "check_overdue_invoices")!;
  const [, minutes] = cron.match(/^\*\/(\d+) \* \* \* \*$/) ?? [];
  const items = [{ description: "Coffee", price: 22_000, quantity: 2 }];
  const input = { customer_name: "Budi", due_date: "2099-12-31", items };
  const invoice = newInvoice(input, "alice", new Date());
  // It is due at its time, and the schedule may just have been by.
  const latest = invoice.check_at!.getTime() + Number(minutes) * 60_000;
  assert.ok(canResendInvoice(invoice, latest));
});
