import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { NotificationReceiptSchema } from "../../routes/notifications/schemas.ts";
import { ProblemSchema } from "../../http/problems/schema.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { type Arbitrary, fc } from "../support/fast_check.ts";
import { buildNotification, findSentNotification, sign } from "../support/gateway/notifications.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { isPartial, someOf } from "../support/share.ts";

type Body = string | Uint8Array<ArrayBuffer>;

interface Result {
  status: number;
  /** The id of the stored notification, if there is one. */
  id: string | null;
}

/** Sends a body and checks that the response is a receipt or a problem, never a server error. */
async function send({ app }: TestPayments, body: Body, message = ""): Promise<Result> {
  const headers = { "Content-Type": "application/json" };
  const response = await app.request("/notification/", { method: "POST", headers, body });
  const { status } = response;
  const text = await response.text();
  const summary = `${message} ${String(body).slice(0, 2_000)}: ${status} ${text}`;
  assert.ok([200, 400, 403, 413].includes(status), summary);
  if (status === 200) {
    return { status, id: NotificationReceiptSchema.parse(JSON.parse(text)).notification_id };
  }
  assert.equal(response.headers.get("content-type"), "application/problem+json", summary);
  const problem = ProblemSchema.parse(JSON.parse(text));
  assert.equal(problem.instance, response.headers.get("x-request-id"), summary);
  if (problem.code === "validation_error") assert.ok(problem.errors!.length > 0, summary);
  return { status, id: null };
}

/** The number of rows in every table that a notification could write. */
async function countRows({ databaseUrl }: TestPayments): Promise<Record<string, number>> {
  const tables = ["notifications", "payments", "events", "history", "refunds", "jobs"];
  const counts = tables.map((name) => `(select count(*)::int from gateway.${name}) as ${name}`);
  const [row] = await runSql(databaseUrl, `select ${counts.join(", ")}`);
  return { ...row };
}

const UNUSUAL_VALUES: Json[] = [
  ...[null, true, false, 0, -1, 0.5, 1e308, 200, 44_000, 10_000_000_000_000],
  ...["", " ", ".", "..", "0", "NaN", "null", "\u0000", "a\u0000b", "\ud83d", "a\nb", "../charge"],
  ...["constructor", "__proto__", "toString", "hasOwnProperty", "SETTLEMENT", "settlement"],
  ...["'; drop table gateway.payments; --", "x".repeat(300), "é".repeat(3_000), "200", "44000.00"],
  ...["44000.000", "044000.00", "4.4e4", "٤٤٠٠٠", "-44000.00", "2026-03-05 11:12:09"],
  ...[[], [[]], [null], ["settlement"], {}, { a: { b: {} } }, { payment_ref: "x" }],
  ...[{ extra_info: null }, { extra_info: { gross_amount_info: { original_amount: {} } } }],
  ...[[{ refund_key: null, refund_amount: "1.00" }], [{ bank: 7, va_number: {} }]],
];

const FIELDS = [
  ...["order_id", "status_code", "gross_amount", "signature_key", "transaction_status"],
  ...["transaction_id", "fraud_status", "payment_type", "currency", "metadata", "refunds"],
  ...["refund_amount", "settlement_time", "transaction_time", "expiry_time", "expire_time"],
  ...["va_numbers", "permata_va_number", "payment_code", "actions", "bank", "merchant_id"],
  ...["status_message", "custom_field1", "subscription", "schedule", "account_id", "__proto__"],
];

const anyJson: Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(...UNUSUAL_VALUES),
  fc.json().map((text) => JSON.parse(text)),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.integer(),
);

/** The body with one field replaced, added, or (`undefined`) removed. */
function replaceField(body: Json, field: string, value: Json): Json {
  const { [field]: _, ...rest } = body;
  if (value === undefined) return rest;
  // Like `JSON.parse`, this creates an ordinary field even for `__proto__`.
  return Object.defineProperty(rest, field, { value, enumerable: true });
}

Deno.test("notification: random and mutated bodies cause no 5xx, and rejected ones are not stored", async () => {
  await using payments = await openPayments();
  const charged = await payments.charge("bca");
  const paid = await payments.paid("gopay");
  const bodies = [buildNotification(charged, "pending"), buildNotification(paid, "settlement")];
  const text = (body: Json) => JSON.stringify(body);
  const body = fc.constantFrom(...bodies);
  const field = fc.constantFrom(...FIELDS);
  const position = fc.integer({ min: 0, max: 10_000 });
  const anyBody: Arbitrary<Body> = fc.oneof<Body[]>(
    fc.uint8Array({ maxLength: 300 }),
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.json(),
    fc.record({ body, field, value: anyJson }).map(({ body, field, value }) =>
      text(replaceField(body, field, value))
    ),
    // Signed bodies, which only the gateway could send, must do no harm either.
    fc.record({ body, field, value: anyJson }).map(({ body, field, value }) =>
      field === "signature_key" ? text(body) : text(sign(replaceField(body, field, value)))
    ),
    fc.record({ body, field, other: field, value: anyJson, more: anyJson }).map((each) =>
      text(
        sign(replaceField(replaceField(each.body, each.field, each.value), each.other, each.more)),
      )
    ),
    fc.record({ body, at: position, byte: fc.integer({ min: 0, max: 255 }) }).map(
      ({ body, at, byte }) => {
        const bytes = new TextEncoder().encode(text(body));
        bytes[at % bytes.length] = byte;
        return bytes;
      },
    ),
    fc.record({ body, at: position }).map(({ body, at }) => {
      const whole = text(body);
      return whole.slice(0, at % whole.length);
    }),
  );
  const before = await countRows(payments);
  const statuses: Record<number, number> = {};
  let stored = 0;
  const property = fc.asyncProperty(anyBody, async (body) => {
    const { status, id } = await send(payments, body);
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (id !== null) stored++;
  });
  await fc.assert(property, { numRuns: 5_000 });
  for (const status of [200, 400, 403]) {
    assert.ok(
      statuses[status]! > (isPartial ? 0 : 100),
      `${JSON.stringify(statuses)}: each status occurred`,
    );
  }
  const after = await countRows(payments);
  assert.equal(after.notifications, before.notifications! + stored);
  assert.equal(after.payments, before.payments);
  assert.equal(after.refunds, before.refunds);
  const { updated_at: _, ...rest } = await payments.read(paid.id);
  assert.deepEqual({ ...rest, updated_at: paid.updated_at }, paid);
});

Deno.test("notification: a signed body with one changed field is accepted or rejected without a server error", async () => {
  await using payments = await openPayments();
  const [charged, paid] = [await payments.charge("bca"), await payments.paid("gopay")];
  for (
    const [index, body] of [
      buildNotification(charged, "pending"),
      buildNotification(paid, "refund"),
    ].entries()
  ) {
    const changes = FIELDS.flatMap((field) =>
      [undefined, ...UNUSUAL_VALUES].map((value) => ({ field, value }))
    );
    for (const { field, value } of someOf(changes)) {
      // Skipped: the signature of a body with code 200 is also valid for a settlement.
      const isSignedAsSettlement = index === 0 && field === "status_code" && value === "200";
      if (isSignedAsSettlement) continue;
      const changed = replaceField(body, field, value);
      const isSigned = field !== "signature_key";
      await send(payments, JSON.stringify(isSigned ? sign(changed) : changed), field);
    }
  }
  assert.equal((await payments.read(charged.id)).transaction_status, "pending");
  const { updated_at: _, ...rest } = await payments.read(paid.id);
  assert.deepEqual({ ...rest, updated_at: paid.updated_at }, paid);
});

Deno.test("notification: an unusual order id, code, amount or transaction id causes no server error, even if signed", async () => {
  await using payments = await openPayments();
  const orders = [
    ...["\u0000", "a\u0000b", "\ud83d", "a\udc00", "\ufffe", "é".repeat(60), ".", "..", "/", "?#"],
    ...[51, 256, 2_700, 9_000, 100_000].map((length) => randomText(length)),
  ];
  const unknownPayment = { id: randomUUID(), transaction_id: null, payment_type: "qris" };
  for (const order_id of orders) {
    const body = buildNotification(
      { ...unknownPayment, order_id, gross_amount: "44000.00" },
      "settlement",
    );
    await send(payments, JSON.stringify(body), "order");
    const more = { status_code: order_id };
    const plain = { ...unknownPayment, order_id: "plain", gross_amount: "44000.00" };
    await send(payments, JSON.stringify(buildNotification(plain, "settlement", more)), "code");
    await send(
      payments,
      JSON.stringify(buildNotification({ ...plain, gross_amount: order_id }, "settlement")),
      "amount",
    );
    const withTransactionId = { ...plain, transaction_id: order_id };
    await send(
      payments,
      JSON.stringify(buildNotification(withTransactionId, "settlement")),
      "transaction",
    );
  }
});

/** Random text, so that PostgreSQL's compression cannot shorten it. */
function randomText(length: number): string {
  const parts = Array.from({ length: Math.ceil(length / 36) }, () => randomUUID());
  return parts.join("").slice(0, length);
}

Deno.test("notification: 500 concurrent forged requests are all rejected and store nothing", async () => {
  await using payments = await openPayments();
  const before = await countRows(payments);
  const charged = { id: "x", order_id: "o", transaction_id: "t", payment_type: "qris" };
  const forged = buildNotification({ ...charged, gross_amount: "1.00" }, "settlement", {
    filling: "x".repeat(10_000),
  });
  const body = JSON.stringify({ ...forged, signature_key: "0".repeat(128) });
  const answers = await Promise.all(Array.from({ length: 500 }, () => send(payments, body)));
  assert.ok(answers.every(({ status }) => status === 403));
  assert.deepEqual(await countRows(payments), before);
});

/** A payment, and the gateway's notification about its current state. */
interface Scenario {
  id: string;
  body: Json;
}

const SCENARIOS: Record<string, (payments: TestPayments) => Promise<Scenario>> = {
  "a paid bank transfer": (payments) => createScenario(payments, "bca", "pay", "settlement"),
  "a paid wallet": (payments) => createScenario(payments, "gopay", "pay", "settlement"),
  "a wallet paid with a fee": (payments) =>
    createScenario(payments, "gopay", "pay", "settlement", { fee: 1_500 }),
  "an expired bank transfer": (payments) => createScenario(payments, "bca", "expire", "expire"),
  "a denied wallet payment": (payments) => createScenario(payments, "gopay", "deny", "deny"),
  "a captured card": (payments) =>
    createScenario(payments, "card_3ds", "three_ds", "capture", { result: "success" }),
  "a settled capture": (payments) => createScenario(payments, "card", "settle", "settlement"),
  "a pending bank transfer": async (payments) => {
    const charged = await payments.charge("bca");
    return {
      id: charged.id,
      body: await findSentNotification(payments, charged.order_id, "pending"),
    };
  },
  "an authorization": async (payments) => {
    const token_id = await payments.sandbox.token("4811111111111114");
    const charged = await payments.charge("card_3ds", {
      token_id,
      authorize: true,
    });
    const result = { result: "success" };
    await payments.sandbox.control(`transactions/${charged.transaction_id}/three_ds`, result);
    return {
      id: charged.id,
      body: await findSentNotification(payments, charged.order_id, "authorize"),
    };
  },
  "a challenge": async (payments) => {
    const token_id = await payments.sandbox.token("4511111111111117");
    const charged = await payments.charge("card_3ds", { token_id });
    const result = { result: "success" };
    await payments.sandbox.control(`transactions/${charged.transaction_id}/three_ds`, result);
    return {
      id: charged.id,
      body: await findSentNotification(payments, charged.order_id, "capture"),
    };
  },
  "a charge with a lost response": async (payments) => {
    const order_id = `lost-${randomUUID()}-x`;
    await payments.sandbox.fault("charge", "answer_lost");
    const request = { payment_type: "bank_transfer", bank: "bca", gross_amount: 44_000, order_id };
    const answer = await (await payments.post("/charge/", request)).json();
    assert.equal(answer.outcome, "unknown", JSON.stringify(answer));
    return {
      id: answer.payment_id,
      body: await findSentNotification(payments, order_id, "pending"),
    };
  },
  "a refund": async (payments) => {
    const paid = await payments.paid("gopay");
    await payments.sandbox.post(`/v2/${paid.transaction_id}/refund`, {
      refund_key: randomUUID(),
      amount: 4_000,
    });
    return {
      id: paid.id,
      body: await findSentNotification(payments, paid.order_id, "partial_refund"),
    };
  },
};

async function createScenario(
  payments: TestPayments,
  kind: "bca" | "gopay" | "card" | "card_3ds",
  control: string,
  status: string,
  more?: Json,
): Promise<Scenario> {
  const { id, order_id, transaction_id } = await payments.charge(kind);
  await payments.sandbox.control(`transactions/${transaction_id}/${control}`, more);
  return { id, body: await findSentNotification(payments, order_id, status) };
}

/**
 * The state of a payment: its row, events and refunds, and the number of payments. One query,
 * because it runs thousands of times.
 */
async function readState({ app }: TestPayments, id: string): Promise<Json> {
  const [row] = await app.database.query((sql) =>
    sql`
      select to_jsonb(payment) - ${IGNORED_COLUMNS}::text[] as payment,
        payment.paid_at is not null as was_paid,
        array(select name from gateway.events where resource_id = ${id} order by sequence) as events,
        array(select refund_key || ' ' || amount || ' ' || status from gateway.refunds
          where payment_id = ${id} order by refund_key) as refunds,
        (select count(*)::int from gateway.payments) as payments
      from gateway.payments payment where id = ${id}`
  );
  return { ...row };
}

/** Columns that no decision depends on, or that only repeat what the gateway reported. */
const IGNORED_COLUMNS = [
  ...["version", "updated_at", "check_at", "paid_at"],
  ...["status_code", "status_message", "settlement_time", "card"],
];

/** Returns a function that restores the payment to its current state. */
async function saveState(payments: TestPayments, id: string): Promise<() => Promise<void>> {
  const tables = [
    ["payments", "id"],
    ["events", "resource_id"],
    ["history", "resource_id"],
    ["refunds", "payment_id"],
  ] as const;
  const name = (table: string) => `kept_${table}_${id.replaceAll("-", "")}`;
  const forEachTable = (statement: (table: string, column: string) => string) =>
    tables.map(([table, column]) => statement(table, column)).join(";");
  await runSql(
    payments.databaseUrl,
    forEachTable((table, column) =>
      `create table ${name(table)} as select * from gateway.${table} where ${column} = '${id}'`
    ),
  );
  const restore = forEachTable((table, column) =>
    `delete from gateway.${table} where ${column} = '${id}';
     insert into gateway.${table} overriding system value select * from ${name(table)}`
  );
  return async () => void await payments.app.database.query((sql) => sql.unsafe(restore).simple());
}

/**
 * The states that a payment may have after a mutated notification.
 */
interface AllowedStates {
  before: string;
  /** The state at the gateway. */
  after: string;
  /** The state that the original notification leads to. */
  notified: string;
}

/** Sends a mutated notification, checks the resulting state, and restores the payment. */
async function assertHarmless(
  payments: TestPayments,
  { id }: Scenario,
  mutated: Body,
  { before, after, notified }: AllowedStates,
  restore: () => Promise<void>,
  message: string,
): Promise<number> {
  const { status } = await send(payments, mutated, message);
  if (status !== 200) return status;
  const found = JSON.stringify(await readState(payments, id));
  if (found === before) return status;
  if (found !== after && found !== notified) {
    assert.deepEqual(JSON.parse(found), JSON.parse(notified), message);
  }
  await restore();
  return status;
}

/** Determines the allowed states, and restores the payment. */
async function findAllowedStates(
  payments: TestPayments,
  { id, body }: Scenario,
  restore: () => Promise<void>,
): Promise<AllowedStates> {
  const before = await readState(payments, id);
  await payments.refresh(id);
  const after = await readState(payments, id);
  await restore();
  await send(payments, JSON.stringify(body));
  const notified = await readState(payments, id);
  await restore();
  assert.deepEqual(await readState(payments, id), before);
  // A check may return more than the notification, such as the expiry time, but the same state.
  assert.deepEqual(notified, {
    ...after,
    payment: { ...after.payment, ...pickVariableFields(notified.payment) },
  });
  return {
    before: JSON.stringify(before),
    after: JSON.stringify(after),
    notified: JSON.stringify(notified),
  };
}

function pickVariableFields({ expiry_time, transaction_time, bank }: Json): Json {
  return { expiry_time, transaction_time, bank };
}

/** Values to try in every field; `undefined` removes the field. */
const VALUES: Json[] = [undefined, null, 7, "", "x", "\u0000", "6666", true, [], ["x"], {}];

const STATUSES = [
  ...["pending", "authorize", "capture", "settlement", "deny", "cancel", "expire", "failure"],
  ...["refund", "partial_refund", "chargeback", "partial_chargeback", "partial_settlement"],
];

/** More values to try in the fields that the service interprets. */
const FIELD_VALUES: Record<string, (body: Json) => Json[]> = {
  transaction_status: () => [...STATUSES, ...STATUSES.map((status) => status.toUpperCase())],
  fraud_status: () => ["accept", "challenge", "deny", "ACCEPT"],
  status_code: () => ["200", "201", "202", "407", "constructor", "toString", "__proto__"],
  gross_amount: () => ["1.00", "44000", "44000.0", "44000.000", "044000.00", " 44000.00"],
  transaction_id: ({ order_id }) => [order_id, ".", "..", randomUUID(), "x".repeat(300)],
  currency: () => ["USD", "idr", "IDR "],
  payment_type: () => ["credit_card", "qris", "gopay", "bank_transfer", "dana"],
  metadata: ({ metadata }) => [
    { payment_ref: randomUUID() },
    ...["1.00", "44000.00", 44_000, "88000.00", {}].map((original_amount) => ({
      ...metadata,
      extra_info: { gross_amount_info: { original_amount } },
    })),
  ],
  refunds: () => [[{ refund_key: "mine", refund_amount: "44000.00" }], [null], [{}]],
  refund_amount: () => ["44000.00", "1.00", 44_000],
  va_numbers: () => [[{ bank: "bni", va_number: "6666" }], [{}], [null]],
  actions: () => [[{ name: "deeplink-redirect", method: "GET", url: "https://6666.example/" }]],
  expiry_time: () => ["2066-06-06 06:06:06"],
  expire_time: () => ["2066-06-06 06:06:06"],
  transaction_time: () => ["2066-06-06 06:06:06", "2000-01-01 00:00:00"],
  settlement_time: () => ["2066-06-06 06:06:06"],
};

/** Every mutation of one field. */
function mutationsOf(body: Json): [string, Json][] {
  const names = new Set([...Object.keys(body), ...FIELDS, ...Object.keys(FIELD_VALUES)]);
  return [...names].flatMap((name) =>
    [...VALUES, ...FIELD_VALUES[name]?.(body) ?? []].map((value): [string, Json] => [
      `${name} ${JSON.stringify(value)?.slice(0, 60)}`,
      replaceField(body, name, value),
    ])
  );
}

/**
 * The gateway signs all of these statuses with code 202. None of them means that the payment is
 * paid, so the service trusts each of them if the code is 202.
 */
const ENDED = ["deny", "cancel", "expire"];

for (const [name, create] of Object.entries(SCENARIOS)) {
  Deno.test(`notification of ${name}: is rejected or harmless if one field is changed`, async () => {
    await using payments = await openPayments({ databaseUrl: await createDatabase() });
    const scenario = await create(payments);
    const restore = await saveState(payments, scenario.id);
    const allowed = await findAllowedStates(payments, scenario, restore);
    const seenStatuses = new Set<number>();
    for (const [message, mutated] of someOf(mutationsOf(scenario.body))) {
      const status = String(mutated.transaction_status).toLowerCase();
      const isEndedStatus = scenario.body.status_code === "202" && ENDED.includes(status);
      if (isEndedStatus && status !== scenario.body.transaction_status) continue;
      const text = JSON.stringify(mutated);
      seenStatuses.add(await assertHarmless(payments, scenario, text, allowed, restore, message));
    }
    assert.deepEqual([...seenStatuses].sort(), [200, 400, 403]);
  });
}

for (const name of ["a paid bank transfer", "a charge with a lost response"]) {
  Deno.test(`notification of ${name}: is rejected or harmless if one bit is changed`, async () => {
    await using payments = await openPayments({ databaseUrl: await createDatabase() });
    const scenario = await SCENARIOS[name]!(payments);
    const restore = await saveState(payments, scenario.id);
    const allowed = await findAllowedStates(payments, scenario, restore);
    const bytes = new TextEncoder().encode(JSON.stringify(scenario.body));
    const seenStatuses = new Set<number>();
    // A share of the bits has at most one bit of each byte.
    const bits = [...Array(bytes.length * 8).keys()]
      .filter((bit) => !isPartial || bit % 8 === (bit >> 3) % 8);
    for (const bit of someOf(bits)) {
      const mutated = bytes.slice();
      mutated[bit >> 3]! ^= 1 << (bit & 7);
      const message = `bit ${bit}: ${new TextDecoder().decode(mutated)}`;
      seenStatuses.add(
        await assertHarmless(payments, scenario, mutated, allowed, restore, message),
      );
    }
    assert.deepEqual([...seenStatuses].sort(), [200, 400, 403]);
  });
}
