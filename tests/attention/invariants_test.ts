import assert from "node:assert/strict";
import {
  CHECKED_RESOURCES,
  type CheckedResource,
  VIOLATIONS,
} from "../../db/reports/invariants.ts";
import { openCheckouts, type TestCheckouts } from "../support/checkouts/checkouts.ts";
import { newKey } from "../support/idempotency.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import {
  assertNoContradictions,
  countChanges,
  readContradictions,
} from "../support/records/contradictions.ts";
import {
  invoiceRequest,
  parseInvoice,
  parseSubscription,
  subscriptionRequest,
} from "../support/records/requests.ts";

/** The same contradictions of every kind of record. `status`: the column of its status. */
function changesOfRecords(table: string, status: string): Record<string, string> {
  return {
    history_has_one_start: `insert into gateway.history
      (resource, resource_id, to_status, source, created_at)
      select resource, resource_id, to_status, source, created_at from gateway.history
      where resource_id = $1 and from_status is null`,
    history_has_no_gap: `insert into gateway.history
      (resource, resource_id, from_status, to_status, source, created_at)
      select 'x', id, 'nowhere', ${status}, 'x', now() from ${table} where id = $1`,
    history_ends_with_status: `update gateway.history set to_status = 'elsewhere'
      where id = (select max(id) from gateway.history where resource_id = $1)`,
    events_are_counted: `update ${table} set event_count = event_count + 1 where id = $1`,
    events_are_numbered: `insert into gateway.events
      (id, name, resource, resource_id, sequence, data, created_at)
      select gen_random_uuid(), 'x', 'x', id, event_count + 7, '{}', now()
      from ${table} where id = $1`,
  };
}

function transitionWithoutEvent(status: string): string {
  return `insert into gateway.history
    (resource, resource_id, from_status, to_status, source, created_at)
    select resource, resource_id, to_status, '${status}', 'x', now() from gateway.history
    where resource_id = $1 order by id desc limit 1`;
}

/** For each invariant, a change of the record `$1` that contradicts it. */
const CHANGES: Record<CheckedResource, Record<string, string>> = {
  payment: {
    refunds_within_captured:
      "update gateway.refunds set amount = 44001 where payment_id = $1 and created_by is not null",
    refunds_are_counted: "update gateway.refunds set amount = amount + 1 where payment_id = $1",
    pending_refunds_are_reserved: "update gateway.payments set reserved_amount = 1 where id = $1",
    refunds_have_owner: "update gateway.refunds set user_id = 'mallory' where payment_id = $1",
    paid_has_time: "update gateway.payments set paid_at = null where id = $1",
    paid_has_one_event:
      "update gateway.events set name = 'x' where resource_id = $1 and name = 'payment_settled'",
    order_id_has_owner: "update gateway.order_ids set user_id = 'mallory' where holder_id = $1",
    transitions_have_event: transitionWithoutEvent("chargeback"),
    refunded_has_event:
      "update gateway.events set name = 'x' where resource_id = $1 and name = 'payment_refunded'",
    is_counted: "delete from gateway.counted_payments where payment_id = $1",
    items_add_up: "update gateway.payment_items set price = price + 1 where payment_id = $1",
    linked_invoice_has_owner: "update gateway.payments set invoice_id = id where id = $1",
    linked_checkout_has_owner: "update gateway.payments set checkout_id = id where id = $1",
    ...changesOfRecords("gateway.payments", "transaction_status"),
  },
  invoice: {
    paid_has_time: `update gateway.invoices set status = 'paid', paid_at = null where id = $1`,
    items_add_up: "update gateway.invoice_items set price = price + 1 where invoice_id = $1",
    transitions_have_event: transitionWithoutEvent("paid"),
    order_id_has_owner:
      "update gateway.order_ids set holder_id = gen_random_uuid() where holder_id = $1",
    ...changesOfRecords("gateway.invoices", "status"),
  },
  subscription: {
    transitions_have_event: transitionWithoutEvent("cancelled"),
    charges_belong_to_payments: `insert into gateway.subscription_charges
      values ($1::uuid::text, $1::uuid, $1::uuid, now())`,
    ...changesOfRecords("gateway.subscriptions", "status"),
  },
  checkout: {
    transitions_have_event: transitionWithoutEvent("expired"),
    one_attempt_is_payable: `insert into gateway.checkout_attempts
      (id, checkout_id, number, method, order_id, created_at)
      select gen_random_uuid(), $1::uuid, number, 'qris', $1::uuid::text || number, now()
      from generate_series(8, 9) number`,
    paid_has_payment: "update gateway.checkouts set payment_id = id, status = 'paid' where id = $1",
    ended_has_time: "update gateway.checkouts set ended_at = now() where id = $1",
    ...changesOfRecords("gateway.checkouts", "status"),
  },
};

/** A record that contradicts nothing, of each kind. */
const RECORDS: Record<CheckedResource, (checkouts: TestCheckouts) => Promise<{ id: string }>> = {
  async payment(checkouts) {
    const item_details = [{ name: "Tea", price: 44_000, quantity: 1 }];
    const payment = await checkouts.paid("gopay", { gross_amount: 44_000, item_details });
    const path = `/payments/${payment.id}/refund/`;
    const refunded = await checkouts.post(path, { amount: 1_000 }, newKey());
    assert.equal(refunded.status, 200, await refunded.text());
    await countChanges(checkouts.app.service);
    return payment;
  },
  invoice: async (checkouts) =>
    await parseInvoice(await checkouts.post("/invoices/", invoiceRequest()), 201),
  async subscription(checkouts) {
    const request = await subscriptionRequest(checkouts.sandbox);
    return await parseSubscription(await checkouts.post("/subscriptions/", request), 201);
  },
  checkout: (checkouts) => checkouts.create(),
};

Deno.test("invariants: each one finds a planted contradiction, and nothing in a correct record", async (t) => {
  await using checkouts = await openCheckouts();
  const { app } = checkouts;
  for (const resource of CHECKED_RESOURCES) {
    assert.deepEqual(
      Object.keys(CHANGES[resource]).sort(),
      Object.keys(VIOLATIONS[resource]).sort(),
    );
    for (const [invariant, change] of Object.entries(CHANGES[resource])) {
      await t.step(`${resource}: ${invariant}`, async () => {
        const { id } = await RECORDS[resource](checkouts);
        assert.deepEqual(await invariantsOf(checkouts, id), []);
        await app.database.query((sql) => sql.unsafe(change, [id]));
        const names = await invariantsOf(checkouts, id);
        assert.ok(names.includes(invariant), names.join());
      });
    }
  }
});

Deno.test("invariants: find nothing in a payment that was refunded with the customer's fee on the gateway's dashboard", async () => {
  await using payments = await openPayments();
  const { id, transaction_id } = await payments.charge("gopay");
  await payments.sandbox.control(`transactions/${transaction_id}/pay`, { fee: 2_500 });
  await payments.sandbox.post(`/v2/${transaction_id}/refund`, { amount: 46_500 });
  await payments.refresh(id);
  assert.deepEqual(await amountsOf(payments, id), [44_000, 46_500, 0]);
  assert.deepEqual(await invariantsOf(payments, id), []);
});

Deno.test("invariants: find nothing in a payment with an unknown refund that was also refunded on the gateway's dashboard", async () => {
  await using payments = await openPayments();
  const { id, transaction_id } = await payments.paid("gopay");
  await payments.sandbox.fault("refund", "error_503");
  await payments.post(`/payments/${id}/refund/`, { amount: 30_000 });
  await payments.sandbox.post(`/v2/${transaction_id}/refund`, { amount: 44_000 });
  await payments.refresh(id);
  assert.deepEqual(await amountsOf(payments, id), [44_000, 44_000, 30_000]);
  assert.deepEqual(await invariantsOf(payments, id), []);
});

Deno.test("invariants: find nothing in a failed payment that was paid after its order id was used again, but a stranger as its holder", async () => {
  await using payments = await openPayments();
  const { database } = payments.app;
  const first = await payments.paid("gopay");
  const later = await payments.charge("gopay");
  const setHolder = (id: string) =>
    database.query((sql) =>
      sql`update gateway.order_ids set holder_id = ${id} where order_id = ${first.order_id}`
    );
  await setHolder(later.id);
  assert.deepEqual(await invariantsOf(payments, first.id), []);
  await setHolder(crypto.randomUUID());
  assert.deepEqual(await invariantsOf(payments, first.id), ["order_id_has_owner"]);
});

/** Transitions of payments, with the fraud status and the event that they need. */
const TRANSITIONS = [
  ["pending", null, "payment_received"],
  ["authorize", null, "payment_received"],
  ["capture", "challenge", "payment_received"],
  ["deny", null, "payment_denied"],
  ["cancel", null, "payment_cancelled"],
  ["expire", null, "payment_expired"],
  ["failure", null, "payment_failed"],
  ["chargeback", null, "payment_refunded"],
  ["partial_chargeback", null, "payment_refunded"],
] as const;

Deno.test("invariants: find each transition of a payment that has no event, and no other", async () => {
  await using payments = await openPayments();
  const { database } = payments.app;
  const { id } = await payments.charge("gopay");
  const isFound = async () => (await invariantsOf(payments, id)).includes("transitions_have_event");
  const at = "2100-01-01T00:00:00Z";
  for (const [status, fraud, name] of TRANSITIONS) {
    await database.query((sql) =>
      sql`insert into gateway.history
        (resource, resource_id, from_status, to_status, fraud_status, source, created_at)
        values ('payment', ${id}, 'x', ${status}, ${fraud}, 'x', ${at})`
    );
    assert.ok(await isFound(), status);
    await database.query((sql) =>
      sql`insert into gateway.events (id, name, resource, resource_id, sequence, data, created_at)
        values (gen_random_uuid(), ${name}, 'payment', ${id}, 100, '{}', ${at})`
    );
    assert.ok(!await isFound(), status);
    await database.query((sql) => sql`delete from gateway.events where sequence = 100`);
    await database.query((sql) =>
      sql`delete from gateway.history where resource_id = ${id} and created_at = ${at}`
    );
  }
  await database.query((sql) =>
    sql`insert into gateway.history
      (resource, resource_id, from_status, to_status, fraud_status, source, created_at)
      select 'payment', ${id}, 'x', status, fraud, 'x', ${at} from (values
        ('capture', 'accept'), ('settlement', null), ('refund', null), ('partial_refund', null)
      ) without_event (status, fraud)`
  );
  assert.ok(!await isFound(), "these transitions need no event of their own");
});

Deno.test("invariants: find nothing in refused charges whose order may be paid, and in an adopted payment whose transaction moved", async () => {
  await using payments = await openPayments();
  const { app, sandbox } = payments;
  const order_id = crypto.randomUUID();
  await sandbox.paid("bca", { transaction_details: { order_id } });
  const refused = await payments.post(
    "/charge/",
    { payment_type: "gopay", gross_amount: 10_000, order_id },
    newKey(),
  );
  await assertProblem(refused, 400, "duplicate_order");
  await countChanges(app.service);
  await assertNoContradictions(app.database);
  const [failed] = await app.database.query((sql) =>
    sql`select id, transaction_status, status_code from gateway.payments where order_id = ${order_id}`
  );
  assert.deepEqual([failed!.transaction_status, failed!.status_code], ["failure", "406"]);
  assert.deepEqual(await payments.events(failed!.id), []);
  // As if the gateway had refused it for another reason, after which the order is not paid.
  await app.database.query((sql) =>
    sql`update gateway.payments set status_code = '400' where id = ${failed!.id}`
  );
  assert.deepEqual(await invariantsOf(payments, failed!.id), ["transitions_have_event"]);
  // As if it were an adopted payment.
  await app.database.query((sql) =>
    sql`update gateway.payments set user_id = null, created_by = null where id = ${failed!.id}`
  );
  assert.ok(!(await invariantsOf(payments, failed!.id)).includes("transitions_have_event"));
});

/** Changes after which a payment differs from what the statistics have counted. */
const NOT_COUNTED = {
  gross: "update gateway.payments set captured_amount = captured_amount - 1 where id = $1",
  refunds: "update gateway.payments set refunded_amount = refunded_amount + 1 where id = $1",
  chargebacks:
    "update gateway.payments set chargeback_amount = chargeback_amount + 1 where id = $1",
  fees: "insert into gateway.payment_fees values ($1, 'settlement', 50)",
  owner: "update gateway.payments set user_id = 'mallory' where id = $1",
};

Deno.test("invariants: find a payment of which the statistics count another amount or owner, and nothing while a change waits to be counted", async (t) => {
  await using payments = await openPayments();
  const { app } = payments;
  for (const [name, change] of Object.entries(NOT_COUNTED)) {
    await t.step(name, async () => {
      const { id, transaction_id } = await payments.paid("card");
      await payments.sandbox.control(`transactions/${transaction_id}/chargeback`, {
        amount: 1_000,
      });
      await payments.refresh(id);
      await app.database.query((sql) =>
        sql`update gateway.payments set chargeback_amount = 1000 where id = ${id}`
      );
      assert.deepEqual(await invariantsOf(payments, id), [], "not counted yet");
      await countChanges(app.service);
      assert.deepEqual(await invariantsOf(payments, id), []);
      await app.database.query((sql) => sql.unsafe(change, [id]));
      assert.ok((await invariantsOf(payments, id)).includes("is_counted"));
    });
  }
});

/** The names of the invariants that the record contradicts. */
async function invariantsOf({ app }: TestPayments, id: string): Promise<string[]> {
  const found = await readContradictions(app.database);
  return found.filter(({ resource_id }) => resource_id === id).map(({ invariant }) => invariant);
}

/** The captured, refunded and reserved amount. */
async function amountsOf({ app }: TestPayments, id: string): Promise<unknown[]> {
  const [row] = await app.database.query((sql) =>
    sql`
    select captured_amount, refunded_amount, reserved_amount from gateway.payments where id = ${id}`
  );
  return Object.values(row!);
}
