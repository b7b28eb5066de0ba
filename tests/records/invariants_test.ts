import assert from "node:assert/strict";
import type { Caller } from "../../core/auth/caller.ts";
import { invoiceKind } from "../../core/invoices/invoice_record.ts";
import { createCharge } from "../../core/payments/charge.ts";
import { newPayment } from "../../core/payments/new_payment.ts";
import { type PaymentChange, paymentKind } from "../../core/payments/payment_record.ts";
import { buildWrite, changeRecord } from "../../core/records/change.ts";
import type { Change, GatewayRecord, RecordKind } from "../../core/records/record.ts";
import { subscriptionKind } from "../../core/subscriptions/subscription_record.ts";
import { batched } from "../../db/records/batched.ts";
import type { Sql } from "../../db/connection/database.ts";
import { paymentInserts, paymentWrites } from "../../db/writing/payment_writes.ts";
import type { GatewayPayment, GatewayRefund } from "../../db/payments/payments.ts";
import { createDatabase } from "../support/database/database.ts";
import { AMOUNT } from "../support/gateway/sandbox.ts";
import { newKey } from "../support/idempotency.ts";
import { chargeRequest, openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import {
  invoiceRequest,
  parseInvoice,
  parseSubscription,
  subscriptionRequest,
} from "../support/records/requests.ts";

const databaseUrl = await createDatabase();

const OTHER_ID = "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5";

/** A change that no correct program makes, and what the error says about it. */
interface WrongChange<R> {
  violation: RegExp;
  /** Changes the row before, as another program would. */
  prepare?: (sql: Sql, id: string) => Promise<unknown>;
  change: (record: R) => Change<R>;
}

const PAYMENT_CHANGES: Record<string, WrongChange<GatewayPayment>> = {
  "another amount": {
    violation: /gross_amount never changes/,
    change: () => ({ set: { gross_amount: AMOUNT + 1 } }),
  },
  "another version": {
    violation: /version never changes/,
    change: ({ version }) => ({ set: { version: version + 1 } }),
  },
  "a captured amount above the amount of the payment": {
    violation: /captured_amount cannot be 44001 of 44000/,
    change: () => ({ set: { captured_amount: AMOUNT + 1 } }),
  },
  "a captured amount with a fraction": {
    violation: /captured_amount cannot be 0.5 of 44000/,
    change: () => ({ set: { captured_amount: 0.5 } }),
  },
  "another user": {
    violation: /user_id does not change once it is set/,
    change: () => ({ set: { user_id: "mallory" } }),
  },
  "an invoice without its user": {
    violation: /it belongs to an invoice, a subscription or a checkout, but to no user/,
    prepare: (sql, id) => sql`update gateway.payments set user_id = null where id = ${id}`,
    change: () => ({ set: { invoice_id: OTHER_ID } }),
  },
  "another invoice": {
    violation: /invoice_id does not change once it is set/,
    prepare: (sql, id) => sql`update gateway.payments set invoice_id = ${id} where id = ${id}`,
    change: () => ({ set: { invoice_id: OTHER_ID } }),
  },
  "a state that cannot follow": {
    violation: /its status cannot go from settlement to pending/,
    change: () => ({ transition: { ...TRANSITION, to: { status: "pending", fraud: null } } }),
  },
  "a state after a refused charge": {
    violation: /its status cannot go from failure to settlement/,
    prepare: (sql, id) =>
      sql`update gateway.payments set transaction_status = 'failure', is_refused = true
          where id = ${id}`,
    change: () => ({ transition: { ...TRANSITION, to: { status: "settlement", fraud: null } } }),
  },
  "a smaller refunded amount": {
    violation: /refunded_amount cannot go from 500 to 499/,
    prepare: (sql, id) => sql`update gateway.payments set refunded_amount = 500 where id = ${id}`,
    change: () => ({ set: { refunded_amount: 499 } }),
  },
  "another transaction": {
    violation: /transaction_id does not change once it is set/,
    change: () => ({ set: { transaction_id: "another" } }),
  },
  "no transaction, although it has a user": {
    violation: /transaction_id is removed although it has a user/,
    change: () => ({ set: { transaction_id: null } }),
  },
  "no transaction, although it is paid": {
    violation: /transaction_id is removed although its status is settlement/,
    prepare: (sql, id) => sql`update gateway.payments set user_id = null where id = ${id}`,
    change: () => ({ set: { transaction_id: null } }),
  },
  "another time of payment": {
    violation: /paid_at does not change once it is set/,
    change: () => ({ set: { paid_at: new Date(0) } }),
  },
  "a refund of another payment": {
    violation: /the payment_id of refund .* is wrong/,
    change: (payment) => reserve(payment, { payment_id: OTHER_ID }),
  },
  "a refund of another user": {
    violation: /the user_id of refund .* is wrong/,
    change: (payment) => reserve(payment, { user_id: "mallory" }),
  },
  "a refund of nothing": {
    violation: /the amount of refund .* is wrong/,
    change: (payment) => reserve(payment, { amount: 0 }),
  },
  "a refund above the captured amount": {
    violation: /44001 of 44000 would be refunded/,
    change: (payment) => reserve(payment, { amount: AMOUNT + 1 }),
  },
  "a refund without its reservation": {
    violation: /reserved_amount is 0, but its pending refunds are 1000/,
    change: (payment) => ({ refunds: reserve(payment, {}).refunds }),
  },
  "a succeeded refund that becomes pending": {
    violation: /the status of refund .* is wrong/,
    prepare: insertSucceededRefund,
    change: ({ refunds }) => ({ refunds: [{ ...refunds[0]!, status: "pending" }] }),
  },
  "another amount of a known refund": {
    violation: /the amount of refund .* is wrong/,
    prepare: insertSucceededRefund,
    change: ({ refunds }) => ({ refunds: [{ ...refunds[0]!, amount: 1 }] }),
  },
};

const TRANSITION = { events: [], source: "charge" };

/** The change that reserves a refund of 1,000, with these members changed. */
function reserve(payment: GatewayPayment, more: Partial<GatewayRefund>) {
  const refund: GatewayRefund = {
    id: OTHER_ID,
    payment_id: payment.id,
    user_id: payment.user_id,
    refund_key: OTHER_ID,
    amount: 1_000,
    reason: null,
    is_direct: false,
    status: "pending",
    status_code: null,
    status_message: null,
    created_by: null,
    created_at: new Date(),
    updated_at: new Date(),
    ...more,
  };
  return { set: { reserved_amount: refund.amount }, refunds: [refund] } satisfies PaymentChange;
}

async function insertSucceededRefund(sql: Sql, id: string): Promise<void> {
  await insertRefund(sql, id, "succeeded");
}

async function insertRefund(sql: Sql, id: string, status: GatewayRefund["status"]): Promise<void> {
  await sql`
    insert into gateway.refunds
      (id, payment_id, user_id, refund_key, amount, is_direct, status, created_at, updated_at)
    select gen_random_uuid(), id, user_id, gen_random_uuid(), 500, false, ${status}, now(), now()
    from gateway.payments where id = ${id}`;
}

Deno.test("payment: a change that violates an invariant is refused and logged", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const [name, wrong] of Object.entries(PAYMENT_CHANGES)) {
    const { id } = await payments.paid();
    await assertRefused(payments, paymentKind, id, name, wrong);
  }
});

const INVOICE_CHANGES: Record<string, WrongChange<Parameters<typeof invoiceKind.view>[0]>> = {
  "another amount": {
    violation: /total_amount never changes/,
    change: () => ({ set: { total_amount: 1 } }),
  },
  "another user": {
    violation: /user_id never changes/,
    change: () => ({ set: { user_id: "mallory" } }),
  },
  "a state that cannot follow": {
    violation: /its status cannot go from sent to failed/,
    change: () => ({ transition: { ...TRANSITION, to: { status: "failed", fraud: null } } }),
  },
  "paid without a time": {
    violation: /it is paid, but has no paid_at/,
    change: () => ({ transition: { ...TRANSITION, to: { status: "paid", fraud: null } } }),
  },
  "another invoice at the gateway": {
    violation: /gateway_invoice_id does not change once it is set/,
    change: () => ({ set: { gateway_invoice_id: "another" } }),
  },
};

Deno.test("invoice: a change that violates an invariant is refused and logged", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const [name, wrong] of Object.entries(INVOICE_CHANGES)) {
    const response = await payments.post("/invoices/", invoiceRequest());
    const { id } = await parseInvoice(response, 201);
    await assertRefused(payments, invoiceKind, id, name, wrong);
  }
});

const SUBSCRIPTION_CHANGES: Record<
  string,
  WrongChange<Parameters<typeof subscriptionKind.view>[0]>
> = {
  "an amount with a fraction": {
    violation: /amount cannot be 0.5/,
    change: () => ({ set: { amount: 0.5 } }),
  },
  "another user": {
    violation: /user_id never changes/,
    change: () => ({ set: { user_id: "mallory" } }),
  },
  "a state that cannot follow": {
    violation: /its status cannot go from active to failed/,
    change: () => ({ transition: { ...TRANSITION, to: { status: "failed", fraud: null } } }),
  },
  "disabled without a time": {
    violation: /ended_at is missing although it is disabled/,
    change: () => ({ transition: { ...TRANSITION, to: { status: "disabled", fraud: null } } }),
  },
  "another subscription at the gateway": {
    violation: /gateway_subscription_id does not change once it is set/,
    change: () => ({ set: { gateway_subscription_id: "another" } }),
  },
};

Deno.test("subscription: a change that violates an invariant is refused and logged", async () => {
  await using payments = await openPayments({ databaseUrl });
  for (const [name, wrong] of Object.entries(SUBSCRIPTION_CHANGES)) {
    const request = await subscriptionRequest(payments.sandbox);
    const response = await payments.post("/subscriptions/", request);
    const { id } = await parseSubscription(response, 201);
    await assertRefused(payments, subscriptionKind, id, name, wrong);
  }
});

Deno.test("charge: an amount with a fraction that passed the schema is refused before anything is stored", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const caller: Caller = {
    userId: "alice",
    isStaff: false,
    isViewer: false,
    credential: "jwt",
    keyPrefix: null,
  };
  const order_id = `fraction-${crypto.randomUUID()}`;
  const input = { payment_type: "gopay", gross_amount: 10.5, order_id } as const;
  await assert.rejects(
    createCharge(app.service, caller, input, null),
    /^Error: The payment [0-9a-f-]{36} .*gross_amount cannot be 10.5$/,
  );
  const found = await app.database.query((sql) =>
    sql`select from gateway.order_ids where order_id = ${order_id}`
  );
  assert.equal(found.length, 0);
  assert.deepEqual(await payments.transactions(order_id), []);
});

Deno.test("refund: if the stored amounts of the payment are wrong, nothing is refunded and the log names the payment", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const { id, transaction_id } = await payments.paid();
  await app.database.query((sql) =>
    sql`update gateway.payments set captured_amount = gross_amount * 2 where id = ${id}`
  );
  const before = await rowsOf(payments, id);
  const body = { amount: AMOUNT + 1 };
  const response = await payments.post(`/payments/${id}/refund/`, body, newKey());
  const problem = await assertProblem(response, 500, "internal_error");
  assert.equal(problem.payment_id, id);
  assert.deepEqual(await rowsOf(payments, id), before);
  assertLogged(payments, "payment", id, /44001 of 44000 would be refunded/);
  const { refund_amount } = await payments.sandbox.status(transaction_id!);
  assert.equal(refund_amount, undefined);
});

/** Rows that no change of this version stores, but an earlier version may have stored. */
const STORED_BEFORE: Record<string, (sql: Sql, id: string) => Promise<unknown>> = {
  "a captured amount that includes a fee": (sql, id) =>
    sql`update gateway.payments set captured_amount = gross_amount + 2500 where id = ${id}`,
  "a refund without the owner of the payment": async (sql, id) => {
    await insertRefund(sql, id, "denied");
    await sql`update gateway.refunds set user_id = null where payment_id = ${id}`;
  },
  "an amount that is reserved for no refund": (sql, id) =>
    sql`update gateway.payments set reserved_amount = 700 where id = ${id}`,
  "a pending refund whose amount is not reserved": (sql, id) => insertRefund(sql, id, "pending"),
};

Deno.test("payment: what the gateway reports is stored, although the stored row was wrong before", async (t) => {
  await using payments = await openPayments({ databaseUrl });
  const { app, sandbox } = payments;
  for (const [name, prepare] of Object.entries(STORED_BEFORE)) {
    await t.step(name, async () => {
      const { id, transaction_id } = await payments.paid();
      await app.database.query((sql) => prepare(sql, id));
      const refund = { refund_key: crypto.randomUUID(), amount: AMOUNT };
      await sandbox.post(`/v2/${transaction_id}/refund`, refund);
      const { transaction_status, refund_amount } = await payments.refresh(id);
      assert.deepEqual([transaction_status, refund_amount], ["refund", `${AMOUNT}.00`]);
    });
  }
});

Deno.test("refund: is made although a stored amount is reserved for no refund", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app, sandbox } = payments;
  for (const fault of [null, "bank_pending"]) {
    const { id } = await payments.paid();
    await app.database.query((sql) =>
      STORED_BEFORE["an amount that is reserved for no refund"]!(sql, id)
    );
    if (fault) await sandbox.fault("refund", fault);
    const response = await payments.post(`/payments/${id}/refund/`, { amount: 1_000 }, newKey());
    assert.equal(response.status, 200, await response.clone().text());
    const { refund } = await response.json();
    assert.equal(refund.status, fault ? "pending" : "succeeded");
  }
});

Deno.test("charge: a retry whose key names the payment of another user is refused and logged", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app, sandbox } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const request = await chargeRequest(sandbox, "gopay");
  const { id } = await payments.charge("gopay");
  const headers = newKey();
  assert.equal((await payments.post("/charge/", request, headers, bob)).status, 201);
  await app.database.query((sql) =>
    sql`update gateway.idempotency_keys
        set resource_id = ${id}, reply = null, lease_id = null, lease_until = null
        where key = ${new Headers(headers).get("Idempotency-Key")}`
  );
  const before = await rowsOf(payments, id);
  const response = await payments.post("/charge/", request, headers, bob);
  const problem = await assertProblem(response, 500, "internal_error");
  assert.equal(problem.payment_id, undefined);
  assert.deepEqual(await rowsOf(payments, id), before);
  assertLogged(payments, "payment", id, /an idempotency key of another user names it/);
});

Deno.test("record writes: a row of another record is refused, instead of being left out", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const { id } = await payments.paid();
  const payment = (await app.database.query((sql) => paymentKind.find(sql, id)))!;
  const before = await rowsOf(payments, id);
  const write = buildWrite(app.service, paymentKind, payment, { set: { status_code: "999" } });
  const key = { user_id: "alice", scope: "s", key: "k", lease_id: OTHER_ID };
  const update = { ...key, refund_id: null, reply: null, is_ended: true };
  const [refund] = reserve(payment, { payment_id: OTHER_ID }).refunds;
  const job = { ...paymentKind.checkJob(payment, new Date()), subject_id: OTHER_ID, payload: {} };
  for (
    const wrong of [
      { refunds: [refund!] },
      { jobs: [job] },
      { key: { ...update, resource_id: OTHER_ID } },
    ]
  ) {
    await assert.rejects(
      batched(app.database, paymentWrites, { ...write, ...wrong }),
      new RegExp(`^Error: Record ${id} is not written: .*${OTHER_ID}$`),
    );
  }
  assert.deepEqual(await rowsOf(payments, id), before);
});

Deno.test("record inserts: an item of another record is refused, instead of being left out", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const item = { name: "Tea", price: AMOUNT, quantity: 1 };
  const input = { payment_type: "gopay", gross_amount: AMOUNT, item_details: [item] };
  const record = newPayment(input, "alice", new Date());
  const items = record.items.map((each) => ({ ...each, payment_id: OTHER_ID }));
  const insert = {
    record: { ...record, items },
    key: null,
    keysSince: new Date(0),
    replaces: null,
  };
  await assert.rejects(
    batched(app.database, paymentInserts, insert),
    new RegExp(`^Error: Record ${record.id} is not written: it has an item of another record$`),
  );
  assert.equal(await app.database.query((sql) => paymentKind.find(sql, record.id)), null);
});

/** Makes the wrong change; it must be refused with an error that names the record. */
async function assertRefused<R extends GatewayRecord, View extends object>(
  payments: TestPayments,
  kind: RecordKind<R, View>,
  id: string,
  name: string,
  { violation, prepare, change }: WrongChange<R>,
): Promise<void> {
  const { app } = payments;
  await app.database.query((sql) => prepare?.(sql, id) ?? Promise.resolve());
  const record = (await app.database.query((sql) => kind.find(sql, id)))!;
  const before = await rowsOf(payments, id);
  await assert.rejects(
    changeRecord(app.service, kind, record, change),
    (error: Error) =>
      error.message.includes(`The ${kind.resource} ${id} `) &&
      violation.test(error.message),
    name,
  );
  assert.deepEqual(await rowsOf(payments, id), before, name);
  assertLogged(payments, kind.resource, id, violation);
}

function assertLogged({ app }: TestPayments, resource: string, id: string, violation: RegExp) {
  const logged = app.logged().filter(({ event, [`${resource}_id`]: named }) =>
    event === "invariant_violated" && named === id
  );
  assert.equal(logged.length, 1);
  assert.match((logged[0]!.error as { message: string }).message, violation);
}

/** All rows that belong to a record. */
async function rowsOf({ app }: TestPayments, id: string): Promise<unknown> {
  return await app.database.query((sql) =>
    sql`
      select to_json(payment) from gateway.payments payment where id = ${id}
      union all select to_json(invoice) from gateway.invoices invoice where id = ${id}
      union all select to_json(record) from gateway.subscriptions record where id = ${id}
      union all select to_json(refund) from gateway.refunds refund where payment_id = ${id}
      union all select to_json(entry) from gateway.history entry where resource_id = ${id}
      union all select to_json(event) from gateway.events event where resource_id = ${id}
      union all select to_json(job) from gateway.jobs job where subject_id = ${id}`
  );
}
