import assert from "node:assert/strict";
import { checkInvoiceStatus } from "../../core/invoices/check_invoice_status.ts";
import { checkOverdueInvoices } from "../../core/invoices/check_overdue_invoices.ts";
import { findNotification } from "../../db/notifications.ts";
import {
  alterInvoices,
  DAY,
  HOUR,
  type Invoice,
  MINUTE,
  namesTold,
  openInvoices,
  parseInvoice,
  type TestInvoices,
} from "../support/records/invoices.ts";
import { newKey } from "../support/idempotency.ts";
import { notified, notify, sign } from "../support/gateway/notifications.ts";
import { permutations } from "../support/permutations.ts";
import { parsePayment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import type { Json } from "../support/gateway/sandbox.ts";

/** That it is paid, told once, and by one payment that is the owner's. */
async function assertPaid(invoices: TestInvoices, { id }: Invoice): Promise<Invoice> {
  const invoice = await invoices.find(id);
  assert.equal(invoice.status, "paid");
  assert.notEqual(invoice.paid_at, null);
  assert.deepEqual([invoice.is_overdue, invoice.void_reason], [false, null]);
  const told = await invoices.told(id);
  const paid = told.filter(({ name }) => name === "invoice_paid");
  assert.equal(paid.length, 1);
  const { notification_id: _, ...data } = paid[0]!.data;
  assert.deepEqual({ ...data, updated_at: null }, { ...invoice, updated_at: null });
  assert.equal(told.filter(({ name }) => name === "invoice_created").length, 1);
  const settled = (await invoices.paymentsOf(invoice)).filter(({ is_paid }) => is_paid);
  assert.equal(settled.length, 1);
  assert.equal(settled[0]!.gross_amount, invoice.total_amount);
  const events = await invoices.events(settled[0]!.id);
  assert.equal(events.filter((name) => name === "payment_settled").length, 1);
  return invoice;
}

/** The gateway voids it without us, as by its dashboard. */
async function voidElsewhere({ sandbox }: TestInvoices, invoice: Invoice): Promise<void> {
  const path = `/v1/invoices/${invoice.gateway_invoice_id}/void`;
  assert.equal((await sandbox.call("PATCH", path, { void_reason: "dashboard" })).http, 200);
}

const check = ({ gateway_invoice_id }: Invoice) => `GET /v1/invoices/${gateway_invoice_id}`;
const voiding = ({ gateway_invoice_id }: Invoice) =>
  `PATCH /v1/invoices/${gateway_invoice_id}/void`;

Deno.test("an invoice is paid by itself: its payment is the owner's, and the notification is named", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const { order_id, transaction_id } = await invoices.pay(invoice, { payment_type: "qris" });
  assert.equal(order_id, invoice.order_id);
  await invoices.work();
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
  const [created, paid] = await invoices.told(invoice.id);
  assert.deepEqual([created!.name, paid!.name], ["invoice_created", "invoice_paid"]);
  const { notification_id } = paid!.data;
  const told = await invoices.app.database.query((sql) => findNotification(sql, notification_id!));
  assert.deepEqual([told?.payment_id, told?.status], [payment!.id, "processed"]);
  const bob = await invoices.app.createKey({ userId: "bob" });
  assert.equal((await invoices.get(`/payments/${payment!.id}/`, bob)).status, 404);
});

Deno.test("a draft is sent, and then paid", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  let isDraft = true;
  alterInvoices(invoices, (answer) => isDraft ? { ...answer, status: "draft" } : answer);
  const invoice = await invoices.create();
  assert.equal(invoice.status, "draft");
  isDraft = false;
  await invoices.advance(HOUR);
  await invoices.tick();
  assert.equal((await invoices.find(invoice.id)).status, "sent");
  await invoices.pay(invoice);
  await invoices.work();
  await assertPaid(invoices, invoice);
  assert.deepEqual(await invoices.transitions(invoice.id), [
    ">pending create",
    "pending>draft create",
    "draft>sent check_invoice_status",
    "sent>paid check_invoice_status",
  ]);
});

Deno.test("with every webhook lost the clock finds out that an invoice was paid, and by what", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice);
  await invoices.advance(HOUR);
  await invoices.tick();
  const paid = await assertPaid(invoices, invoice);
  const [payment] = await invoices.paymentsOf(invoice);
  assert.equal(payment!.transaction_id, transaction_id);
  assert.equal((await invoices.told(invoice.id)).at(-1)!.data.notification_id, null);
  // What was lost comes after all.
  for (const { body } of invoices.sandbox.hooks) {
    assert.notEqual((await notified(invoices, body)).status, "processed");
  }
  await invoices.tick();
  assert.deepEqual(await invoices.find(invoice.id), paid);
  await assertPaid(invoices, invoice);
});

Deno.test("only the last webhook is lost: the pending payment is found settled, and the invoice paid", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  await invoices.pay(invoice, { only_start: true });
  await invoices.work();
  assert.equal((await invoices.paymentsOf(invoice))[0]!.transaction_status, "pending");
  assert.equal((await invoices.find(invoice.id)).status, "sent");
  await invoices.sandbox.fault("pay", "webhook_lost");
  await invoices.sandbox.control(`transactions/${invoice.order_id}/pay`);
  await invoices.work();
  assert.equal((await invoices.find(invoice.id)).status, "sent");
  await invoices.advance(10 * MINUTE);
  await invoices.tick();
  await assertPaid(invoices, invoice);
});

Deno.test("a payment that was over here and paid in the last second is found with its invoice", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice, { only_start: true });
  const { sandbox } = invoices;
  sandbox.receiver.answer = () => new Response("OK");
  await sandbox.control(`transactions/${transaction_id}/pay`);
  // What the service was told before that is that nobody had paid.
  const { body } = sandbox.hooks[0]!;
  const expired = sign({ ...body, status_code: "202", transaction_status: "expire" });
  assert.equal((await notified(invoices, expired)).status, "processed");
  assert.equal((await invoices.paymentsOf(invoice))[0]!.is_expired, true);
  await invoices.advance(HOUR);
  await invoices.tick();
  await assertPaid(invoices, invoice);
});

Deno.test("a gateway whose invoice follows its transaction by a moment is asked again soon", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  await invoices.advance(2 * DAY);
  await invoices.tick();
  let isBehind = true;
  alterInvoices(invoices, (answer) => isBehind ? { ...answer, status: "pending" } : answer);
  await invoices.pay(invoice);
  await invoices.work();
  assert.equal((await invoices.find(invoice.id)).status, "sent");
  isBehind = false;
  await invoices.advance(5 * MINUTE);
  await invoices.tick();
  await assertPaid(invoices, invoice);
});

Deno.test("past its day an invoice is overdue, can be paid still, and is paid then", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  await invoices.advance(2 * DAY);
  await invoices.tick();
  assert.equal((await invoices.find(invoice.id)).status, "sent");
  await invoices.advance(2 * DAY);
  await invoices.tick();
  const overdue = await invoices.find(invoice.id);
  assert.deepEqual([overdue.status, overdue.is_overdue, overdue.paid_at], ["overdue", true, null]);
  assert.deepEqual(await namesTold(invoices, invoice), ["invoice_created"]);
  await invoices.pay(invoice);
  await invoices.work();
  await assertPaid(invoices, invoice);
  assert.deepEqual((await invoices.transitions(invoice.id)).slice(2), [
    "sent>overdue check_invoice_status",
    "overdue>paid check_invoice_status",
  ]);
});

Deno.test("overdue ones go on being asked for: a payment months later is found without a webhook", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  for (let month = 1; month <= 3; month++) {
    await invoices.advance(30 * DAY);
    await invoices.tick();
    assert.equal((await invoices.find(invoice.id)).status, "overdue");
  }
  await invoices.pay(invoice);
  await invoices.advance(7 * HOUR);
  await invoices.tick();
  await assertPaid(invoices, invoice);
});

Deno.test("one that was paid on its last day is never overdue, though nobody told of it", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  await invoices.advance(2 * DAY);
  await invoices.tick();
  await invoices.pay(invoice);
  await invoices.advance(2 * DAY);
  await invoices.tick();
  await assertPaid(invoices, invoice);
  assert.ok(!(await invoices.transitions(invoice.id)).some((step) => step.includes("overdue")));
});

Deno.test("an overdue invoice is voided", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  await invoices.advance(4 * DAY);
  await invoices.tick();
  const voided = await parseInvoice(await invoices.void(invoice.id, { reason: "too late" }), 200);
  assert.deepEqual([voided.status, voided.is_overdue], ["void", false]);
  assert.deepEqual(await namesTold(invoices, invoice), ["invoice_created", "invoice_voided"]);
});

Deno.test("one that was paid before it was voided is paid, and whoever voids it is told", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  await invoices.pay(invoice);
  const refused = await invoices.void(invoice.id, { reason: "too late" });
  const problem = await assertProblem(refused, 400, "invalid_state");
  assert.deepEqual([problem.outcome, problem.invoice_status], ["refused", "paid"]);
  await invoices.work();
  await assertPaid(invoices, invoice);
  assert.deepEqual(await namesTold(invoices, invoice), ["invoice_created", "invoice_paid"]);
});

Deno.test("one that was voided and then paid, for the customer had begun to, is paid", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice, { only_start: true });
  assert.equal((await invoices.void(invoice.id, { reason: "no more" })).status, 200);
  await invoices.work();
  assert.equal((await invoices.find(invoice.id)).status, "void");
  await invoices.sandbox.control(`transactions/${transaction_id}/pay`);
  await invoices.work();
  await assertPaid(invoices, invoice);
  assert.deepEqual((await invoices.transitions(invoice.id)).slice(2), [
    "sent>void void",
    "void>paid check_invoice_status",
  ]);
});

Deno.test("one that was voided and then paid is found out even if every webhook is lost", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice, { only_start: true });
  assert.equal((await invoices.void(invoice.id)).status, 200);
  await invoices.sandbox.control(`transactions/${transaction_id}/pay`);
  // As long as what the customer began can be paid, and a while more.
  for (let hours = 0; hours < 30; hours += 3) {
    await invoices.advance(3 * HOUR);
    await invoices.tick();
  }
  await assertPaid(invoices, invoice);
});

Deno.test("the customer pays while the void is on its way there: it is paid", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const held = invoices.relay.holdNext(voiding(invoice));
  const answer = invoices.void(invoice.id, { reason: "too late" });
  await held.arrived;
  await invoices.pay(invoice);
  await invoices.work();
  held.release();
  await assertProblem(await answer, 400, "invalid_state");
  await invoices.work();
  await assertPaid(invoices, invoice);
  assert.ok(!(await namesTold(invoices, invoice)).includes("invoice_voided"));
});

Deno.test("the customer pays while the void's answer is on its way back: it is paid", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice, { only_start: true });
  const held = invoices.relay.holdAnswer(voiding(invoice));
  const answer = invoices.void(invoice.id, { reason: "no more" });
  await held.arrived;
  await invoices.sandbox.control(`transactions/${transaction_id}/pay`);
  await invoices.work();
  held.release();
  assert.equal((await parseInvoice(await answer, 200)).status, "paid", "as it ended");
  await invoices.work();
  await assertPaid(invoices, invoice);
});

Deno.test("an answer that was overtaken by a void does not bring the invoice back", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const held = invoices.relay.holdAnswer(check(invoice));
  const checked = checkInvoiceStatus(invoices.app.deps, invoice.id);
  await held.arrived;
  assert.equal((await invoices.void(invoice.id)).status, 200);
  held.release();
  await checked;
  assert.equal((await invoices.find(invoice.id)).status, "void");
  assert.deepEqual(await namesTold(invoices, invoice), ["invoice_created", "invoice_voided"]);
});

Deno.test("an answer that was overtaken by the payment does not undo it", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  await invoices.advance(4 * DAY);
  const held = invoices.relay.holdAnswer(check(invoice));
  const checked = checkInvoiceStatus(invoices.app.deps, invoice.id);
  await held.arrived;
  await invoices.pay(invoice);
  await invoices.work();
  held.release();
  assert.deepEqual(await checked, { status: "paid" });
  await assertPaid(invoices, invoice);
});

Deno.test("a void whose answer is lost is found out, once, with its reason", async () => {
  for (const isRetried of [true, false]) {
    await using invoices = await openInvoices();
    const invoice = await invoices.create();
    const key = newKey();
    await invoices.sandbox.fault("invoice_void", "answer_lost");
    const lost = await invoices.void(invoice.id, { reason: "A" }, key);
    const problem = await assertProblem(lost, 502, "gateway_unreachable");
    assert.deepEqual([problem.outcome, problem.invoice_id], ["unknown", invoice.id]);
    if (isRetried) {
      const again = await invoices.void(invoice.id, { reason: "A" }, key);
      assert.equal((await parseInvoice(again, 200)).status, "void");
    }
    await invoices.advance(2 * MINUTE);
    await invoices.tick();
    const voided = await invoices.find(invoice.id);
    assert.deepEqual([voided.status, voided.void_reason], ["void", "A"]);
    assert.deepEqual(await namesTold(invoices, invoice), ["invoice_created", "invoice_voided"]);
    assert.equal(invoices.relay.times(voiding(invoice)), 1);
  }
});

Deno.test("a void that never arrived leaves the invoice as it was, for another try", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  const key = newKey();
  await invoices.sandbox.fault("invoice_void", "reset");
  const lost = await invoices.void(invoice.id, { reason: "A" }, key);
  assert.equal((await assertProblem(lost, 502, "gateway_unreachable")).outcome, "unknown");
  await invoices.advance(2 * MINUTE);
  await invoices.tick();
  const left = await invoices.find(invoice.id);
  assert.deepEqual([left.status, left.void_reason], ["sent", null]);
  const again = await invoices.void(invoice.id, { reason: "A" }, key);
  assert.equal((await parseInvoice(again, 200)).void_reason, "A");
  assert.deepEqual(await namesTold(invoices, invoice), ["invoice_created", "invoice_voided"]);
});

Deno.test("a second try on the link is a payment of its own, and pays the invoice", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const first = await invoices.pay(invoice, { only_start: true });
  const second = await invoices.pay(invoice, { payment_type: "gopay" });
  assert.notEqual(first.order_id, second.order_id);
  await invoices.work();
  await assertPaid(invoices, invoice);
  const states = async () =>
    (await invoices.paymentsOf(invoice)).map((payment) => [
      payment.transaction_id,
      payment.order_id,
      payment.transaction_status,
    ]);
  assert.deepEqual(await states(), [
    [first.transaction_id, first.order_id, "pending"],
    [second.transaction_id, second.order_id, "settlement"],
  ]);
  await invoices.advance(2 * DAY);
  await invoices.tick();
  assert.equal((await states())[0]![2], "expire");
  await assertPaid(invoices, invoice);
});

Deno.test("a customer who pays twice pays the invoice once; both payments are there to be refunded", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const first = await invoices.pay(invoice, { only_start: true, payment_type: "gopay" });
  const second = await invoices.pay(invoice, { only_start: true, payment_type: "gopay" });
  for (const { transaction_id } of [first, second]) {
    await invoices.sandbox.control(`transactions/${transaction_id}/pay`);
    await invoices.work();
  }
  assert.equal((await invoices.find(invoice.id)).status, "paid");
  assert.deepEqual(await namesTold(invoices, invoice), ["invoice_created", "invoice_paid"]);
  const paid = await invoices.paymentsOf(invoice);
  assert.deepEqual(paid.map(({ is_paid }) => is_paid), [true, true]);
  const refund = await invoices.post(`/payments/${paid[1]!.id}/refund/`, { reason: "twice" });
  assert.equal(refund.status, 200, await refund.clone().text());
  await invoices.sandbox.settled();
  await invoices.work();
  const refunded = await parsePayment(await invoices.get(`/payments/${paid[1]!.id}/`), 200);
  assert.equal(refunded.transaction_status, "refund");
  assert.equal((await invoices.find(invoice.id)).status, "paid");
});

Deno.test("with a fee of the customer's on top it is paid, and the payment is of the invoice's amount", async () => {
  await using invoices = await openInvoices();
  invoices.connect();
  const invoice = await invoices.create();
  const { transaction_id } = await invoices.pay(invoice, { only_start: true });
  await invoices.sandbox.control(`transactions/${transaction_id}/pay`, { fee: 4_000 });
  await invoices.work();
  await assertPaid(invoices, invoice);
});

/** What a second try on the link makes the gateway tell, and how it ends. */
const TOLD = ["pending", "pending", "settlement", "expire"];

Deno.test("however often and in whatever order the webhooks come, it ends the same", async () => {
  await using invoices = await openInvoices();
  const { sandbox } = invoices;
  for (const [number, order] of permutations([...TOLD.keys()]).entries()) {
    sandbox.hooks.length = 0;
    const invoice = await invoices.create();
    await invoices.pay(invoice, { only_start: true, payment_type: "gopay" });
    await invoices.pay(invoice, { payment_type: "gopay" });
    await sandbox.control(`transactions/${invoice.order_id}/expire`);
    const hooks = sandbox.hooks.map(({ body }) => body);
    assert.deepEqual(hooks.map(({ transaction_status }) => transaction_status), TOLD);
    for (const [index, each] of order.entries()) {
      assert.equal((await notify(invoices, hooks[each])).status, 200);
      // Once more, and the jobs now or later: it must not matter.
      if ((number + index) % 2) assert.equal((await notify(invoices, hooks[each])).status, 200);
      if ((number + index) % 3 === 0) await invoices.work();
    }
    await invoices.work();
    const says = order.map((each) => TOLD[each]).join();
    assert.equal((await invoices.find(invoice.id)).status, "paid", says);
    assert.deepEqual(await namesTold(invoices, invoice), ["invoice_created", "invoice_paid"], says);
    const payments = await invoices.paymentsOf(invoice);
    const states = payments.map(({ transaction_status }) => transaction_status);
    assert.deepEqual(states.sort(), ["expire", "settlement"], says);
  }
});

Deno.test("ten times the same at once, and looks from everywhere: it is paid once", async () => {
  await using invoices = await openInvoices();
  const invoice = await invoices.create();
  await invoices.pay(invoice);
  const bodies = invoices.sandbox.hooks.map(({ body }) => body);
  const tell = (body: Json) => notify(invoices, body);
  const answers = await Promise.all([
    ...Array.from({ length: 10 }, () => bodies.map(tell)).flat(),
    ...Array.from({ length: 5 }, () => checkInvoiceStatus(invoices.app.deps, invoice.id)),
  ]);
  for (const answer of answers) if (answer instanceof Response) assert.equal(answer.status, 200);
  await invoices.work();
  await assertPaid(invoices, invoice);
  assert.equal((await invoices.paymentsOf(invoice)).length, 1);
});

Deno.test("ten voids at once: one void, told once", async () => {
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
  assert.deepEqual(await namesTold(invoices, invoice), ["invoice_created", "invoice_voided"]);
  assert.equal((await invoices.transitions(invoice.id)).length, 3);
});

Deno.test("overdue looks, syncs and voids all at once: one void event", async () => {
  await using invoices = await openInvoices();
  const { deps } = invoices.app;
  const made = await Promise.all(Array.from({ length: 8 }, () => invoices.create()));
  await invoices.advance(4 * DAY);
  for (const [index, invoice] of made.entries()) {
    if (index % 2) await voidElsewhere(invoices, invoice);
  }
  await Promise.all([
    ...Array.from({ length: 3 }, async () => {
      await checkOverdueInvoices(deps);
      await invoices.work();
    }),
    ...made.flatMap(({ id }) => [
      checkInvoiceStatus(deps, id),
      checkInvoiceStatus(deps, id),
      invoices.void(id),
    ]),
  ]);
  await invoices.work();
  for (const invoice of made) {
    assert.equal((await invoices.find(invoice.id)).status, "void");
    assert.deepEqual(await namesTold(invoices, invoice), ["invoice_created", "invoice_voided"]);
  }
});

Deno.test("after days without webhooks and a gateway that was away every end is known", async () => {
  await using invoices = await openInvoices();
  const made = [];
  for (let n = 0; n < 6; n++) made.push(await invoices.create());
  const [paid, second, voided, late, ,] = made as [Invoice, Invoice, Invoice, Invoice];
  await invoices.pay(paid);
  const begun = await invoices.pay(second, { only_start: true });
  await voidElsewhere(invoices, voided);
  await invoices.sandbox.control(`transactions/${begun.transaction_id}/pay`);
  // The first run comes to nothing; that is no reason for there to be no other.
  await invoices.sandbox.fault("invoice_get", "error_500", { count: 1_000 });
  await invoices.advance(HOUR);
  await invoices.tick();
  for (const { id } of made) assert.equal((await invoices.find(id)).status, "sent");
  await invoices.sandbox.control("faults", undefined, "DELETE");
  await invoices.advance(4 * DAY);
  await invoices.pay(late);
  await invoices.tick();
  const states = await Promise.all(made.map(async ({ id }) => (await invoices.find(id)).status));
  assert.deepEqual(states, ["paid", "paid", "void", "paid", "overdue", "overdue"]);
  for (const invoice of [paid, second, late]) await assertPaid(invoices, invoice);
  assert.deepEqual(await namesTold(invoices, voided), ["invoice_created", "invoice_voided"]);
});
