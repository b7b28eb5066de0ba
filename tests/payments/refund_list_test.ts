import assert from "node:assert/strict";
import { displayPrefix } from "../../core/secrets/api_key.ts";
import { adoptTransaction } from "../../core/payments/adopt.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { openPayments, type Payment, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

interface Refunded extends TestPayments {
  staff: string;
  viewer: string;
  bob: string;
  /** Refunds a part of the payment and returns the refund. */
  refund(payment: Payment, amount: number, key?: string): Promise<Json>;
  list(query?: string, key?: string): Promise<Json[]>;
}

async function openRefunded(now?: () => number): Promise<Refunded> {
  const payments = await openPayments({ now });
  const { app, key: alice } = payments;
  return {
    ...payments,
    staff: await app.createKey({ userId: "ops", isStaff: true }),
    viewer: await app.createKey({ userId: "vera", isViewer: true }),
    bob: await app.createKey({ userId: "bob" }),
    async refund({ id }, amount, key = alice) {
      const response = await payments.post(`/payments/${id}/refund/`, { amount }, {}, key);
      assert.equal(response.status, 200, await response.clone().text());
      return (await response.json()).refund;
    },
    async list(query = "", key = alice) {
      const response = await payments.get(`/refunds/${query}`, key);
      assert.equal(response.status, 200, await response.clone().text());
      return await response.json();
    },
  };
}

const idsOf = (refunds: Json[]) => refunds.map(({ id }) => id);

Deno.test("refund list: is newest first, and shows the payment and its order", async () => {
  await using payments = await openRefunded();
  const payment = await payments.paid();
  const first = await payments.refund(payment, 1_000);
  const second = await payments.refund(payment, 2_000);
  const refunds = await payments.list();
  assert.deepEqual(idsOf(refunds), [second.id, first.id]);
  const { payment_id, order_id, created_by, created_by_name, updated_at, ...refund } = refunds[1]!;
  assert.deepEqual(refund, first);
  assert.deepEqual([payment_id, order_id], [payment.id, payment.order_id]);
  const requester = [created_by, created_by_name];
  assert.deepEqual(requester, [null, null], "only staff and viewers see who requested it");
  assert.ok(updated_at >= refund.created_at);
  const read = await payments.get(`/refunds/${first.id}/`);
  assert.deepEqual(await read.json(), refunds[1]);
});

Deno.test("refund list: a user sees only refunds of their own payments; staff and viewers see all refunds and who requested them", async () => {
  await using payments = await openRefunded();
  const { staff, viewer, bob, key } = payments;
  const refund = await payments.refund(await payments.paid(), 1_000);
  const byStaff = await payments.refund(await payments.paid(), 1_000, staff);
  assert.deepEqual(await payments.list("", bob), []);
  await assertProblem(await payments.get(`/refunds/${refund.id}/`, bob), 404, "not_found");
  await assertProblem(await payments.get(`/refunds/no-uuid/`, bob), 404, "not_found");
  for (const reader of [staff, viewer]) {
    const all = await payments.list("", reader);
    assert.deepEqual(idsOf(all), [byStaff.id, refund.id]);
    assert.deepEqual(
      all.map(({ created_by }) => created_by),
      [staff, key].map((each) => `api_key:${displayPrefix(each)}`),
    );
  }
});

Deno.test("refund list: filters by status, payment, time and amount, and by several of them", async () => {
  let aheadMs = 0;
  await using payments = await openRefunded(() => Date.now() + aheadMs);
  const [payment, other] = [await payments.paid(), await payments.paid()];
  const small = await payments.refund(payment, 1_000);
  aheadMs = 60_000;
  const large = await payments.refund(payment, 5_000);
  const others = await payments.refund(other, 3_000);
  await payments.app.database.query((sql) =>
    sql`update gateway.refunds set status = 'denied' where id = ${others.id}`
  );
  const found = async (query: string) => idsOf(await payments.list(query));
  assert.deepEqual(await found("?status=denied"), [others.id]);
  assert.deepEqual(await found("?status=denied&status=succeeded"), [others.id, large.id, small.id]);
  assert.deepEqual(await found("?status=pending"), []);
  assert.deepEqual(await found(`?payment_id=${payment.id}`), [large.id, small.id]);
  assert.deepEqual(await found(`?payment_id=${payment.id}&status=denied`), []);
  assert.deepEqual(await found("?min_amount=3000"), [others.id, large.id]);
  assert.deepEqual(await found("?min_amount=3000&max_amount=4999"), [others.id]);
  assert.deepEqual(await found(`?created_from=${large.created_at}`), [others.id, large.id]);
  assert.deepEqual(await found(`?created_to=${large.created_at}`), [small.id]);
  const range = `created_from=${small.created_at}&created_to=${large.created_at}`;
  assert.deepEqual(await found(`?payment_id=${payment.id}&${range}`), [small.id]);
});

for (
  const query of [
    "status=lost",
    "payment_id=7",
    "created_from=yesterday",
    "min_amount=-1",
    "max_amount=1.5",
    "min_amount=99999999999999",
    "limit=0",
  ]
) {
  Deno.test(`refund list: rejects ${query}, and names the parameter`, async () => {
    await using payments = await openRefunded();
    const { errors } = await assertProblem(
      await payments.get(`/refunds/?${query}`),
      400,
      "validation_error",
    );
    assert.match(errors![0]!.field, new RegExp(`^${query.split("=")[0]}`));
  });
}

Deno.test("refund list: pages contain every refund once, with the filters of the first page", async () => {
  await using payments = await openRefunded();
  const payment = await payments.paid();
  const ids: string[] = [];
  for (let amount = 1; amount <= 5; amount++) {
    ids.unshift((await payments.refund(payment, amount)).id);
  }
  const seen: string[] = [];
  let next: string | undefined = "/refunds/?limit=2&status=succeeded&status=pending&min_amount=2";
  while (next) {
    const response: Response = await payments.get(next);
    seen.push(...idsOf(await response.json()));
    next = response.headers.get("Link")?.match(/<(.*)>/)?.[1];
    if (next) assert.match(next, /status=succeeded&status=pending&.*min_amount=2/);
  }
  assert.deepEqual(seen, ids.slice(0, 4));
});

Deno.test("refund list: contains a refund made in the gateway's dashboard, for the owner of the payment", async () => {
  await using payments = await openRefunded();
  const { id, transaction_id } = await payments.paid();
  await payments.sandbox.post(`/v2/${transaction_id}/refund`, {
    refund_key: "elsewhere",
    amount: 4_000,
  });
  await payments.refresh(id);
  const [refund] = await payments.list();
  assert.deepEqual([refund!.refund_key, refund!.payment_id], ["elsewhere", id]);
  const [seenByStaff] = await payments.list("", payments.staff);
  assert.equal(seenByStaff!.created_by, null);
});

Deno.test("refund list: if a payment gets its owner later, the owner sees its refunds", async () => {
  await using payments = await openRefunded();
  const { id, transaction_id, order_id } = await payments.paid();
  await payments.app.database.query((sql) =>
    sql`update gateway.payments set user_id = null where id = ${id}`
  );
  const body = { refund_key: "elsewhere", amount: 4_000 };
  await payments.sandbox.post(`/v2/${transaction_id}/refund`, body);
  await payments.check(id);
  assert.deepEqual(await payments.list(), []);
  const { body: answer } = await payments.app.gateway.getStatus(transaction_id!);
  assert.equal(answer.order_id, order_id);
  const link = { user_id: "alice", invoice_id: null, subscription_id: null, checkout_id: null };
  await adoptTransaction(payments.app.service, { answer, source: "notification" }, link);
  assert.deepEqual((await payments.list()).map(({ amount }) => amount), ["4000.00"]);
});
