import assert from "node:assert/strict";
import { checkInvoiceStatus } from "../../core/invoices/check_invoice_status.ts";
import { checkOverdueInvoices } from "../../core/invoices/check_overdue_invoices.ts";
import { findNotification } from "../../db/payments/notifications.ts";
import { createHeldDatabase } from "../support/database/held_database.ts";
import { notify, notifyAndRead, sign } from "../support/gateway/notifications.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { newKey } from "../support/idempotency.ts";
import { parsePayment } from "../support/payments/payments.ts";
import { permutations } from "../support/permutations.ts";
import { assertProblem } from "../support/problem.ts";
import {
  alterInvoices,
  DAY,
  HOUR,
  type Invoice,
  MINUTE,
  openInvoices,
  parseInvoice,
  readEventNames,
  type TestInvoices,
} from "../support/records/invoices.ts";

/** Fails unless the invoice is paid: one created event, one paid event and one settled payment. */
async function assertPaid(invoices: TestInvoices, { id }: Invoice): Promise<Invoice> {
  const invoice = await invoices.find(id);
  assert.equal(invoice.status, "paid");
  assert.notEqual(invoice.paid_at, null);
  assert.deepEqual([invoice.is_overdue, invoice.void_reason], [false, null]);
  const invoiceEvents = await invoices.readEvents(id);
  const paid = invoiceEvents.filter(({ name }) => name === "invoice_paid");
  assert.equal(paid.length, 1);
  const { notification_id: _, ...data } = paid[0]!.data;
  assert.deepEqual({ ...data, updated_at: null }, { ...invoice, updated_at: null });
  assert.equal(invoiceEvents.filter(({ name }) => name === "invoice_created").length, 1);
  const settled = (await invoices.paymentsOf(invoice)).filter(({ is_paid }) => is_paid);
  assert.equal(settled.length, 1);
  assert.equal(settled[0]!.gross_amount, invoice.total_amount);
  const events = await invoices.events(settled[0]!.id);
  assert.equal(events.filter((name) => name === "payment_settled").length, 1);
  return invoice;
}

/** Voids the invoice at the gateway without the service, as the gateway's dashboard does. */
async function voidAtGateway({ sandbox }: TestInvoices, invoice: Invoice): Promise<void> {
  const path = `/v1/invoices/${invoice.gateway_invoice_id}/void`;
  assert.equal((await sandbox.call("PATCH", path, { void_reason: "dashboard" })).http, 200);
}

const checkCall = ({ gateway_invoice_id }: Invoice) => `GET /v1/invoices/${gateway_invoice_id}`;
const voidCall = ({ gateway_invoice_id }: Invoice) =>
  `PATCH /v1/invoices/${gateway_invoice_id}/void`;

Deno.test("invoice payment: belongs to the owner of the invoice, marks the invoice paid, and sends an event that names the notification", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const { order_id, transaction_id } = await invoices.pay(invoice, { payment_type: "qris" });
  assert.equal(order_id, invoice.order_id);
  await invoices.runJobs();
  await assertPaid(invoices, invoice);
  assert.deepEqual(await invoices.transitions(invoice.id), [
    ">pending create",
    "pending>sent create",
    "sent>paid check_invoice_status",
  ]);
  const [payment] = await invoices.paymentsOf(invoice);
  assert.deepEqual(
    [payment!.transaction_id, payment!.transaction_status, payment!.payment_type],
    [transaction_id, "settlement", "qris"],
  );
  assert.equal(payment!.subscription_id, null);
  const [created, paid] = await invoices.readEvents(invoice.id);
  assert.deepEqual([created!.name, paid!.name], ["invoice_created", "invoice_paid"]);
  const { notification_id } = paid!.data;
  const notification = await invoices.app.database.query((sql) =>
    findNotification(sql, notification_id!)
  );
  assert.deepEqual([notification?.payment_id, notification?.status], [payment!.id, "processed"]);
  const bob = await invoices.app.createKey({ userId: "bob" });
  assert.equal((await invoices.get(`/payments/${payment!.id}/`, bob)).status, 404);
});

Deno.test("draft invoice: becomes sent and then paid", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  let isDraft = true;
  alterInvoices(invoices, (answer) => isDraft ? { ...answer, status: "draft" } : answer);
  const invoice = await invoices.create();
  assert.equal(invoice.status, "draft");
  isDraft = false;
  await invoices.advance(HOUR);
  await invoices.runSchedule();
  assert.equal((await invoices.find(invoice.id)).status, "sent");
  await invoices.pay(invoice);
  await invoices.runJobs();
  await assertPaid(invoices, invoice);
  assert.deepEqual(await invoices.transitions(invoice.id), [
    ">pending create",
    "pending>draft create",
    "draft>sent check_invoice_status",
    "sent>paid check_invoice_status",
  ]);
});

Deno.test("scheduled check: finds a paid invoice and its payment if every notification was lost", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice);
  await invoices.advance(HOUR);
  await invoices.runSchedule();
  const paid = await assertPaid(invoices, invoice);
  const [payment] = await invoices.paymentsOf(invoice);
  assert.equal(payment!.transaction_id, transaction_id);
  assert.equal((await invoices.readEvents(invoice.id)).at(-1)!.data.notification_id, null);
  // The lost notifications arrive late.
  for (const { body } of invoices.sandbox.hooks) {
    assert.notEqual((await notifyAndRead(invoices, body)).status, "processed");
  }
  await invoices.runSchedule();
  assert.deepEqual(await invoices.find(invoice.id), paid);
  await assertPaid(invoices, invoice);
});

Deno.test("scheduled check: finds a settled payment and its paid invoice if only the last notification was lost", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  await invoices.pay(invoice, { only_start: true });
  await invoices.runJobs();
  assert.equal((await invoices.paymentsOf(invoice))[0]!.transaction_status, "pending");
  assert.equal((await invoices.find(invoice.id)).status, "sent");
  await invoices.sandbox.fault("pay", "webhook_lost");
  await invoices.sandbox.control(`transactions/${invoice.order_id}/pay`);
  await invoices.runJobs();
  assert.equal((await invoices.find(invoice.id)).status, "sent");
  await invoices.advance(10 * MINUTE);
  await invoices.runSchedule();
  await assertPaid(invoices, invoice);
});

Deno.test("scheduled check: marks an invoice paid if its payment was reported as expired, but is paid", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice, { only_start: true });
  const { sandbox } = invoices;
  sandbox.receiver.answer = () => new Response("OK");
  await sandbox.control(`transactions/${transaction_id}/pay`);
  // The service gets an expire notification, but no notification of the payment.
  const { body } = sandbox.hooks[0]!;
  const expired = sign({ ...body, status_code: "202", transaction_status: "expire" });
  assert.equal((await notifyAndRead(invoices, expired)).status, "processed");
  assert.equal((await invoices.paymentsOf(invoice))[0]!.is_expired, true);
  await invoices.advance(HOUR);
  await invoices.runSchedule();
  await assertPaid(invoices, invoice);
});

Deno.test("invoice payment: the invoice is checked again within minutes if its status at the gateway is not paid yet", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  await invoices.advance(2 * DAY);
  await invoices.runSchedule();
  let isGatewayBehind = true;
  alterInvoices(invoices, (answer) => isGatewayBehind ? { ...answer, status: "pending" } : answer);
  await invoices.pay(invoice);
  await invoices.runJobs();
  assert.equal((await invoices.find(invoice.id)).status, "sent");
  isGatewayBehind = false;
  await invoices.advance(5 * MINUTE);
  await invoices.runSchedule();
  await assertPaid(invoices, invoice);
});

Deno.test("overdue invoice: can still be paid after its due date", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  await invoices.advance(2 * DAY);
  await invoices.runSchedule();
  assert.equal((await invoices.find(invoice.id)).status, "sent");
  await invoices.advance(2 * DAY);
  await invoices.runSchedule();
  const overdue = await invoices.find(invoice.id);
  assert.deepEqual([overdue.status, overdue.is_overdue, overdue.paid_at], ["overdue", true, null]);
  assert.deepEqual(await readEventNames(invoices, invoice), ["invoice_created"]);
  await invoices.pay(invoice);
  await invoices.runJobs();
  await assertPaid(invoices, invoice);
  assert.deepEqual((await invoices.transitions(invoice.id)).slice(2), [
    "sent>overdue check_invoice_status",
    "overdue>paid check_invoice_status",
  ]);
});

Deno.test("overdue invoice: is still checked, so a payment months later is found without a notification", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  for (let month = 1; month <= 3; month++) {
    await invoices.advance(30 * DAY);
    await invoices.runSchedule();
    assert.equal((await invoices.find(invoice.id)).status, "overdue");
  }
  await invoices.pay(invoice);
  await invoices.advance(7 * HOUR);
  await invoices.runSchedule();
  await assertPaid(invoices, invoice);
});

Deno.test("invoice: does not become overdue if it was paid on its last day, even without a notification", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  await invoices.advance(2 * DAY);
  await invoices.runSchedule();
  await invoices.pay(invoice);
  await invoices.advance(2 * DAY);
  await invoices.runSchedule();
  await assertPaid(invoices, invoice);
  assert.ok(!(await invoices.transitions(invoice.id)).some((step) => step.includes("overdue")));
});

Deno.test("overdue invoice: can be voided", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  await invoices.advance(4 * DAY);
  await invoices.runSchedule();
  const voided = await parseInvoice(await invoices.void(invoice.id, { reason: "too late" }), 200);
  assert.deepEqual([voided.status, voided.is_overdue], ["void", false]);
  assert.deepEqual(await readEventNames(invoices, invoice), ["invoice_created", "invoice_voided"]);
});

Deno.test("invoice void: is rejected with invoice_status paid if the invoice was already paid", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  await invoices.pay(invoice);
  const refused = await invoices.void(invoice.id, { reason: "too late" });
  const problem = await assertProblem(refused, 400, "invalid_state");
  assert.deepEqual([problem.outcome, problem.invoice_status], ["refused", "paid"]);
  await invoices.runJobs();
  await assertPaid(invoices, invoice);
  assert.deepEqual(await readEventNames(invoices, invoice), ["invoice_created", "invoice_paid"]);
});

Deno.test("voided invoice: becomes paid if the customer completes a payment started before the void", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice, { only_start: true });
  assert.equal((await invoices.void(invoice.id, { reason: "no more" })).status, 200);
  await invoices.runJobs();
  assert.equal((await invoices.find(invoice.id)).status, "void");
  await invoices.sandbox.control(`transactions/${transaction_id}/pay`);
  await invoices.runJobs();
  await assertPaid(invoices, invoice);
  assert.deepEqual((await invoices.transitions(invoice.id)).slice(2), [
    "sent>void void",
    "void>paid check_invoice_status",
  ]);
});

Deno.test("voided invoice: a check finds a payment completed after the void if every notification is lost", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice, { only_start: true });
  assert.equal((await invoices.void(invoice.id)).status, 200);
  await invoices.sandbox.control(`transactions/${transaction_id}/pay`);
  // The last check runs 25 hours after the void: a started payment can be completed for a day.
  for (let hours = 0; hours < 30; hours += 3) {
    await invoices.advance(3 * HOUR);
    await invoices.runSchedule();
  }
  await assertPaid(invoices, invoice);
});

/** Runs the schedule for this many hours, every 3 hours. */
async function passHours(invoices: TestInvoices, hours: number): Promise<void> {
  for (let passed = 0; passed < hours; passed += 3) {
    await invoices.advance(3 * HOUR);
    await invoices.runSchedule();
  }
}

Deno.test("voided invoice: the last check finds a payment if the void's response was lost and the void was retried", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice, { only_start: true });
  const key = newKey();
  await invoices.sandbox.fault("invoice_void", "answer_lost");
  await assertProblem(await invoices.void(invoice.id, {}, key), 502, "gateway_unreachable");
  assert.equal((await parseInvoice(await invoices.void(invoice.id, {}, key), 200)).status, "void");
  const checks = invoices.relay.times(checkCall(invoice));
  await invoices.advance(2 * MINUTE);
  await invoices.runSchedule();
  assert.equal(
    invoices.relay.times(checkCall(invoice)),
    checks + 1,
    "the unanswered void is checked",
  );
  await invoices.sandbox.control(`transactions/${transaction_id}/pay`);
  await passHours(invoices, 30);
  await assertPaid(invoices, invoice);
});

Deno.test("voided invoice: the last check finds a payment if a concurrent void was not answered", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice, { only_start: true });
  await voidUnanswered(invoices, invoice, async () => {
    assert.equal((await invoices.void(invoice.id)).status, 200);
  });
  await invoices.advance(2 * MINUTE);
  await invoices.runSchedule();
  assert.equal((await invoices.find(invoice.id)).status, "void");
  await invoices.sandbox.control(`transactions/${transaction_id}/pay`);
  await passHours(invoices, 30);
  await assertPaid(invoices, invoice);
});

Deno.test("paid invoice: is no longer checked by the schedule if it was paid during a void that was not answered", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  await voidUnanswered(invoices, invoice, async () => {
    await invoices.pay(invoice);
    await checkInvoiceStatus(invoices.app.service, invoice.id);
  });
  await invoices.runJobs();
  await assertPaid(invoices, invoice);
  await invoices.advance(DAY);
  assert.equal(await checkOverdueInvoices(invoices.app.service), 0);
});

/** Sends a void that the gateway does not answer; `meanwhile` runs before that. */
async function voidUnanswered(
  invoices: TestInvoices,
  invoice: Invoice,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const held = invoices.relay.holdNext(voidCall(invoice));
  const unanswered = invoices.void(invoice.id);
  await held.arrived;
  await meanwhile();
  await invoices.sandbox.fault("invoice_void", "reset");
  held.release();
  await assertProblem(await unanswered, 502, "gateway_unreachable");
}

Deno.test("voided invoice: the last check finds a payment if the caller checked the invoice after the void", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice, { only_start: true });
  assert.equal((await invoices.void(invoice.id)).status, 200);
  for (const hours of [0, 21]) {
    await passHours(invoices, hours);
    const response = await invoices.get(`/invoices/${invoice.id}/check_status/`);
    assert.equal(response.status, 200, await response.text());
  }
  await invoices.sandbox.control(`transactions/${transaction_id}/pay`);
  await passHours(invoices, 9);
  await assertPaid(invoices, invoice);
});

Deno.test("voided invoice: is checked again within minutes if its status at the gateway is not paid yet", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice, { only_start: true });
  assert.equal((await invoices.void(invoice.id)).status, 200);
  await invoices.runJobs();
  let isGatewayBehind = true;
  alterInvoices(invoices, (answer) => isGatewayBehind ? { ...answer, status: "voided" } : answer);
  await invoices.sandbox.control(`transactions/${transaction_id}/pay`);
  await invoices.runJobs();
  assert.equal((await invoices.find(invoice.id)).status, "void");
  isGatewayBehind = false;
  await invoices.advance(5 * MINUTE);
  await invoices.runSchedule();
  await assertPaid(invoices, invoice);
});

Deno.test("voided invoice: is checked once by the schedule if it is not paid", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  assert.equal((await invoices.void(invoice.id)).status, 200);
  const checks = invoices.relay.times(checkCall(invoice));
  await passHours(invoices, 72);
  assert.equal(invoices.relay.times(checkCall(invoice)), checks + 1);
  assert.equal((await invoices.find(invoice.id)).status, "void");
});

Deno.test("invoice void: a retry with the same key succeeds if the service learns during the retry that the invoice is void", async () => {
  const { holdNext, wrapDatabase } = createHeldDatabase();
  await using invoices = await openInvoices({ wrapDatabase });
  const invoice = await invoices.create();
  const headers = newKey();
  await invoices.sandbox.fault("invoice_void", "reset");
  const lost = await invoices.void(invoice.id, {}, headers);
  await assertProblem(lost, 502, "gateway_unreachable");
  const checkWrite = holdNext("write invoice");
  const retry = invoices.void(invoice.id, {}, headers);
  await checkWrite.arrived;
  const held = holdNext("write invoice");
  checkWrite.release();
  await held.arrived;
  await invoices.sandbox.control(`invoices/${invoice.gateway_invoice_id}/void`);
  await (await invoices.get(`/invoices/${invoice.id}/check_status/`)).body?.cancel();
  assert.equal((await invoices.find(invoice.id)).status, "void");
  held.release();
  const answer = await retry;
  assert.equal(answer.status, 200, await answer.clone().text());
  assert.equal((await answer.json()).status, "void");
});

Deno.test("invoice void: is rejected if the customer pays before the gateway receives it", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const held = invoices.relay.holdNext(voidCall(invoice));
  const answer = invoices.void(invoice.id, { reason: "too late" });
  await held.arrived;
  await invoices.pay(invoice);
  await invoices.runJobs();
  held.release();
  await assertProblem(await answer, 400, "invalid_state");
  await invoices.runJobs();
  await assertPaid(invoices, invoice);
  assert.ok(!(await readEventNames(invoices, invoice)).includes("invoice_voided"));
});

Deno.test("invoice void: the invoice becomes paid if the customer pays before the void's response arrives", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice, { only_start: true });
  const held = invoices.relay.holdAnswer(voidCall(invoice));
  const answer = invoices.void(invoice.id, { reason: "no more" });
  await held.arrived;
  await invoices.sandbox.control(`transactions/${transaction_id}/pay`);
  await invoices.runJobs();
  held.release();
  assert.equal(
    (await parseInvoice(await answer, 200)).status,
    "paid",
    "the response has the current status",
  );
  await invoices.runJobs();
  await assertPaid(invoices, invoice);
});

Deno.test("invoice check: a response older than a void does not undo the void", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const held = invoices.relay.holdAnswer(checkCall(invoice));
  const checked = checkInvoiceStatus(invoices.app.service, invoice.id);
  await held.arrived;
  assert.equal((await invoices.void(invoice.id)).status, 200);
  held.release();
  await checked;
  assert.equal((await invoices.find(invoice.id)).status, "void");
  assert.deepEqual(await readEventNames(invoices, invoice), ["invoice_created", "invoice_voided"]);
});

Deno.test("invoice check: a response older than a payment does not undo the payment", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  await invoices.advance(4 * DAY);
  const held = invoices.relay.holdAnswer(checkCall(invoice));
  const checked = checkInvoiceStatus(invoices.app.service, invoice.id);
  await held.arrived;
  await invoices.pay(invoice);
  await invoices.runJobs();
  held.release();
  assert.deepEqual(await checked, { status: "paid" });
  await assertPaid(invoices, invoice);
});

Deno.test("invoice void: is completed once, with its reason, if the gateway's response is lost", async () => {
  for (const isRetried of [true, false]) {
    await using invoices = await openInvoices();
    const invoice = await invoices.create();
    const key = newKey();
    await invoices.sandbox.fault("invoice_void", "answer_lost");
    const lostResponse = await invoices.void(invoice.id, { reason: "A" }, key);
    const problem = await assertProblem(lostResponse, 502, "gateway_unreachable");
    assert.deepEqual([problem.outcome, problem.invoice_id], ["unknown", invoice.id]);
    if (isRetried) {
      const again = await invoices.void(invoice.id, { reason: "A" }, key);
      assert.equal((await parseInvoice(again, 200)).status, "void");
    }
    await invoices.advance(2 * MINUTE);
    await invoices.runSchedule();
    const voided = await invoices.find(invoice.id);
    assert.deepEqual([voided.status, voided.void_reason], ["void", "A"]);
    assert.deepEqual(await readEventNames(invoices, invoice), [
      "invoice_created",
      "invoice_voided",
    ]);
    assert.equal(invoices.relay.times(voidCall(invoice)), 1);
  }
});

Deno.test("invoice void: if the request never reaches the gateway, the invoice stays sent and the void can be retried", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const key = newKey();
  await invoices.sandbox.fault("invoice_void", "reset");
  const lostResponse = await invoices.void(invoice.id, { reason: "A" }, key);
  assert.equal((await assertProblem(lostResponse, 502, "gateway_unreachable")).outcome, "unknown");
  await invoices.advance(2 * MINUTE);
  await invoices.runSchedule();
  const unchanged = await invoices.find(invoice.id);
  assert.deepEqual([unchanged.status, unchanged.void_reason], ["sent", null]);
  const again = await invoices.void(invoice.id, { reason: "A" }, key);
  assert.equal((await parseInvoice(again, 200)).void_reason, "A");
  assert.deepEqual(await readEventNames(invoices, invoice), ["invoice_created", "invoice_voided"]);
});

Deno.test("invoice payment: a second attempt on the link is a separate payment and pays the invoice", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const firstAttempt = await invoices.pay(invoice, { only_start: true });
  const secondAttempt = await invoices.pay(invoice, { payment_type: "gopay" });
  assert.notEqual(firstAttempt.order_id, secondAttempt.order_id);
  await invoices.runJobs();
  await assertPaid(invoices, invoice);
  const states = async () =>
    (await invoices.paymentsOf(invoice)).map((payment) => [
      payment.transaction_id,
      payment.order_id,
      payment.transaction_status,
    ]);
  assert.deepEqual(await states(), [
    [firstAttempt.transaction_id, firstAttempt.order_id, "pending"],
    [secondAttempt.transaction_id, secondAttempt.order_id, "settlement"],
  ]);
  await invoices.advance(2 * DAY);
  await invoices.runSchedule();
  assert.equal((await states())[0]![2], "expire");
  await assertPaid(invoices, invoice);
});

Deno.test("invoice payment: if the customer pays twice, one paid event is sent, and the second payment can be refunded", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const firstPayment = await invoices.pay(invoice, { only_start: true, payment_type: "gopay" });
  const secondPayment = await invoices.pay(invoice, { only_start: true, payment_type: "gopay" });
  for (const { transaction_id } of [firstPayment, secondPayment]) {
    await invoices.sandbox.control(`transactions/${transaction_id}/pay`);
    await invoices.runJobs();
  }
  assert.equal((await invoices.find(invoice.id)).status, "paid");
  assert.deepEqual(await readEventNames(invoices, invoice), ["invoice_created", "invoice_paid"]);
  const paid = await invoices.paymentsOf(invoice);
  assert.deepEqual(paid.map(({ is_paid }) => is_paid), [true, true]);
  const refund = await invoices.post(`/payments/${paid[1]!.id}/refund/`, { reason: "twice" });
  assert.equal(refund.status, 200, await refund.clone().text());
  await invoices.sandbox.waitForWebhooks();
  await invoices.runJobs();
  const refunded = await parsePayment(await invoices.get(`/payments/${paid[1]!.id}/`), 200);
  assert.equal(refunded.transaction_status, "refund");
  assert.equal((await invoices.find(invoice.id)).status, "paid");
});

Deno.test("invoice payment: a customer fee does not change the amount of the payment", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice, { only_start: true });
  await invoices.sandbox.control(`transactions/${transaction_id}/pay`, { fee: 4_000 });
  await invoices.runJobs();
  await assertPaid(invoices, invoice);
});

/** Notifications of two payments on the invoice's page: the first expires, the second is paid. */
const STATUSES = ["pending", "pending", "settlement", "expire"];

Deno.test("notifications of an invoice: lead to the same states in any order and with repeats", async () => {
  await using invoices = await openInvoices();
  const { sandbox } = invoices;
  for (const [number, order] of permutations([...STATUSES.keys()]).entries()) {
    sandbox.hooks.length = 0;
    const invoice = await invoices.create();
    await invoices.pay(invoice, { only_start: true, payment_type: "gopay" });
    await invoices.pay(invoice, { payment_type: "gopay" });
    await sandbox.control(`transactions/${invoice.order_id}/expire`);
    const hooks = sandbox.hooks.map(({ body }) => body);
    assert.deepEqual(hooks.map(({ transaction_status }) => transaction_status), STATUSES);
    for (const [index, each] of order.entries()) {
      assert.equal((await notify(invoices, hooks[each])).status, 200);
      // Neither repeats nor the moment at which jobs run may change the result.
      if ((number + index) % 2) assert.equal((await notify(invoices, hooks[each])).status, 200);
      if ((number + index) % 3 === 0) await invoices.runJobs();
    }
    await invoices.runJobs();
    const message = order.map((each) => STATUSES[each]).join();
    assert.equal((await invoices.find(invoice.id)).status, "paid", message);
    assert.deepEqual(
      await readEventNames(invoices, invoice),
      ["invoice_created", "invoice_paid"],
      message,
    );
    const payments = await invoices.paymentsOf(invoice);
    const states = payments.map(({ transaction_status }) => transaction_status);
    assert.deepEqual(states.sort(), ["expire", "settlement"], message);
  }
});

Deno.test("notifications of an invoice: mark it paid once if repeats and checks run concurrently", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  await invoices.pay(invoice);
  const bodies = invoices.sandbox.hooks.map(({ body }) => body);
  const send = (body: Json) => notify(invoices, body);
  const answers = await Promise.all([
    ...Array.from({ length: 10 }, () => bodies.map(send)).flat(),
    ...Array.from({ length: 5 }, () => checkInvoiceStatus(invoices.app.service, invoice.id)),
  ]);
  for (const answer of answers) if (answer instanceof Response) assert.equal(answer.status, 200);
  await invoices.runJobs();
  await assertPaid(invoices, invoice);
  assert.equal((await invoices.paymentsOf(invoice)).length, 1);
});

Deno.test("invoice void: 10 concurrent voids write one transition and one event", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => invoices.void(invoice.id, { reason: "A" })),
  );
  for (const answer of answers) {
    if (answer.status === 200) assert.equal((await parseInvoice(answer, 200)).status, "void");
    else await assertProblem(answer, 400, "invalid_state");
  }
  assert.ok(answers.some(({ status }) => status === 200));
  assert.deepEqual(await readEventNames(invoices, invoice), ["invoice_created", "invoice_voided"]);
  assert.equal((await invoices.transitions(invoice.id)).length, 3);
});

Deno.test("invoice void: concurrent overdue checks, status checks and voids write one event", async () => {
  await using invoices = await openInvoices();
  const { service } = invoices.app;
  const created = await Promise.all(Array.from({ length: 8 }, () => invoices.create()));
  await invoices.advance(4 * DAY);
  for (const [index, invoice] of created.entries()) {
    if (index % 2) await voidAtGateway(invoices, invoice);
  }
  await Promise.all([
    ...Array.from({ length: 3 }, async () => {
      await checkOverdueInvoices(service);
      await invoices.runJobs();
    }),
    ...created.flatMap(({ id }) => [
      checkInvoiceStatus(service, id),
      checkInvoiceStatus(service, id),
      invoices.void(id),
    ]),
  ]);
  await invoices.runJobs();
  for (const invoice of created) {
    assert.equal((await invoices.find(invoice.id)).status, "void");
    assert.deepEqual(await readEventNames(invoices, invoice), [
      "invoice_created",
      "invoice_voided",
    ]);
  }
});

Deno.test("scheduled check: finds every state after days without notifications and a gateway outage", async () => {
  await using invoices = await openInvoices();
  const created = [];
  for (let n = 0; n < 6; n++) created.push(await invoices.create());
  const [paid, paidAfterStart, voided, paidLate, ,] = created as [
    Invoice,
    Invoice,
    Invoice,
    Invoice,
  ];
  await invoices.pay(paid);
  const started = await invoices.pay(paidAfterStart, { only_start: true });
  await voidAtGateway(invoices, voided);
  await invoices.sandbox.control(`transactions/${started.transaction_id}/pay`);
  // The first run fails. Later runs must still check the invoices.
  await invoices.sandbox.fault("invoice_get", "error_500", { count: 1_000 });
  await invoices.advance(HOUR);
  await invoices.runSchedule();
  for (const { id } of created) assert.equal((await invoices.find(id)).status, "sent");
  await invoices.sandbox.control("faults", undefined, "DELETE");
  await invoices.advance(4 * DAY);
  await invoices.pay(paidLate);
  await invoices.runSchedule();
  const states = await Promise.all(created.map(async ({ id }) => (await invoices.find(id)).status));
  assert.deepEqual(states, ["paid", "paid", "void", "paid", "overdue", "overdue"]);
  for (const invoice of [paid, paidAfterStart, paidLate]) await assertPaid(invoices, invoice);
  assert.deepEqual(await readEventNames(invoices, voided), ["invoice_created", "invoice_voided"]);
});
