import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { NotificationReceiptSchema } from "../../routes/notifications/schemas.ts";
import { ProblemSchema } from "../../routes/schemas/problem.ts";
import { ask, createDatabase } from "../support/database/database.ts";
import { type Arbitrary, fc } from "../support/fast_check.ts";
import { hookOf, sign, telling } from "../support/gateway/notifications.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";

type Body = string | Uint8Array<ArrayBuffer>;

interface Taken {
  status: number;
  /** Of the record; null where there is none. */
  id: string | null;
}

/** Sends it, and holds the answer to its contract: a receipt, or a problem; never a mistake of ours. */
async function send({ app }: TestPayments, body: Body, says = ""): Promise<Taken> {
  const headers = { "Content-Type": "application/json" };
  const response = await app.request("/notification/", { method: "POST", headers, body });
  const { status } = response;
  const text = await response.text();
  const about = `${says} ${String(body).slice(0, 2_000)}: ${status} ${text}`;
  assert.ok([200, 400, 403, 413].includes(status), about);
  if (status === 200) {
    return { status, id: NotificationReceiptSchema.parse(JSON.parse(text)).notification_id };
  }
  assert.equal(response.headers.get("content-type"), "application/problem+json", about);
  const problem = ProblemSchema.parse(JSON.parse(text));
  assert.equal(problem.instance, response.headers.get("x-request-id"), about);
  if (problem.code === "validation_error") assert.ok(problem.errors!.length > 0, about);
  return { status, id: null };
}

/** How many rows there are of all that a notification could leave behind. */
async function countRows({ databaseUrl }: TestPayments): Promise<Record<string, number>> {
  const tables = ["notifications", "payments", "events", "history", "refunds", "jobs"];
  const counts = tables.map((name) => `(select count(*)::int from gateway.${name}) as ${name}`);
  const [row] = await ask(databaseUrl, `select ${counts.join(", ")}`);
  return { ...row };
}

const NASTY: Json[] = [
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
  fc.constantFrom<Json>(...NASTY),
  fc.json().map((text) => JSON.parse(text)),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.integer(),
);

/** One member is another, or there is one more, or one less. */
function spoilt(body: Json, field: string, value: Json): Json {
  const { [field]: _, ...rest } = body;
  if (value === undefined) return rest;
  // As a parser makes it: `__proto__` is a member like any other.
  return Object.defineProperty(rest, field, { value, enumerable: true });
}

Deno.test("10,000 random and mutated bodies: never a 5xx, and nothing is stored of what is refused", async () => {
  await using payments = await openPayments();
  const charged = await payments.charge("bca");
  const paid = await payments.paid("gopay");
  const bodies = [telling(charged, "pending"), telling(paid, "settlement")];
  const text = (body: Json) => JSON.stringify(body);
  const body = fc.constantFrom(...bodies);
  const field = fc.constantFrom(...FIELDS);
  const position = fc.integer({ min: 0, max: 10_000 });
  const some: Arbitrary<Body> = fc.oneof<Body[]>(
    fc.uint8Array({ maxLength: 300 }),
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.json(),
    fc.record({ body, field, value: anyJson }).map(({ body, field, value }) =>
      text(spoilt(body, field, value))
    ),
    // Signed: only the gateway could have sent it, and even then it must do no harm.
    fc.record({ body, field, value: anyJson }).map(({ body, field, value }) =>
      field === "signature_key" ? text(body) : text(sign(spoilt(body, field, value)))
    ),
    fc.record({ body, field, other: field, value: anyJson, more: anyJson }).map((each) =>
      text(sign(spoilt(spoilt(each.body, each.field, each.value), each.other, each.more)))
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
  const taken: Record<number, number> = {};
  let recorded = 0;
  const property = fc.asyncProperty(some, async (body) => {
    const { status, id } = await send(payments, body);
    taken[status] = (taken[status] ?? 0) + 1;
    if (id !== null) recorded++;
  });
  await fc.assert(property, { numRuns: 10_000 });
  for (const status of [200, 400, 403]) {
    assert.ok(taken[status]! > 200, `${JSON.stringify(taken)}: each of them was tried`);
  }
  const after = await countRows(payments);
  assert.equal(after.notifications, before.notifications! + recorded);
  assert.equal(after.payments, before.payments);
  assert.equal(after.refunds, before.refunds);
  const { updated_at: _, ...rest } = await payments.read(paid.id);
  assert.deepEqual({ ...rest, updated_at: paid.updated_at }, paid);
});

Deno.test("a signed body with any member spoiled is taken or refused, and is no mistake of ours", async () => {
  await using payments = await openPayments();
  const [charged, paid] = [await payments.charge("bca"), await payments.paid("gopay")];
  for (const [index, body] of [telling(charged, "pending"), telling(paid, "refund")].entries()) {
    for (const field of FIELDS) {
      for (const value of [undefined, ...NASTY]) {
        // What turns the pending one into a paid one is believed of one who can sign.
        const isTrueWord = index === 0 && field === "status_code" && value === "200";
        if (isTrueWord) continue;
        const spoiled = spoilt(body, field, value);
        const isSigned = field !== "signature_key";
        await send(payments, JSON.stringify(isSigned ? sign(spoiled) : spoiled), field);
      }
    }
  }
  assert.equal((await payments.read(charged.id)).transaction_status, "pending");
  const { updated_at: _, ...rest } = await payments.read(paid.id);
  assert.deepEqual({ ...rest, updated_at: paid.updated_at }, paid);
});

Deno.test("a signed order id of any length and of any characters is taken or refused", async () => {
  await using payments = await openPayments();
  const orders = [
    ...["\u0000", "a\u0000b", "\ud83d", "a\udc00", "\ufffe", "é".repeat(60), ".", "..", "/", "?#"],
    ...[51, 256, 2_700, 9_000, 100_000].map((length) => randomText(length)),
  ];
  const nobodys = { id: randomUUID(), transaction_id: null, payment_type: "qris" };
  for (const order_id of orders) {
    const body = telling({ ...nobodys, order_id, gross_amount: "44000.00" }, "settlement");
    await send(payments, JSON.stringify(body), "order");
    const more = { status_code: order_id };
    const plain = { ...nobodys, order_id: "plain", gross_amount: "44000.00" };
    await send(payments, JSON.stringify(telling(plain, "settlement", more)), "code");
    await send(
      payments,
      JSON.stringify(telling({ ...plain, gross_amount: order_id }, "settlement")),
      "amount",
    );
    const named = { ...plain, transaction_id: order_id };
    await send(payments, JSON.stringify(telling(named, "settlement")), "transaction");
  }
});

/** That no compression makes short. */
function randomText(length: number): string {
  const parts = Array.from({ length: Math.ceil(length / 36) }, () => randomUUID());
  return parts.join("").slice(0, length);
}

Deno.test("a flood of what is refused is nothing that any of them has to wait or pay for", async () => {
  await using payments = await openPayments();
  const before = await countRows(payments);
  const charged = { id: "x", order_id: "o", transaction_id: "t", payment_type: "qris" };
  const forged = telling({ ...charged, gross_amount: "1.00" }, "settlement", {
    filling: "x".repeat(10_000),
  });
  const body = JSON.stringify({ ...forged, signature_key: "0".repeat(128) });
  const answers = await Promise.all(Array.from({ length: 500 }, () => send(payments, body)));
  assert.ok(answers.every(({ status }) => status === 403));
  assert.deepEqual(await countRows(payments), before);
});

/** A payment as it is known here, and what the gateway itself tells of it now. */
interface Scene {
  id: string;
  body: Json;
}

const SCENES: Record<string, (payments: TestPayments) => Promise<Scene>> = {
  "a transfer that was paid": (payments) => scene(payments, "bca", "pay", "settlement"),
  "a wallet that was paid": (payments) => scene(payments, "gopay", "pay", "settlement"),
  "a wallet that was paid with a fee": (payments) =>
    scene(payments, "gopay", "pay", "settlement", { fee: 1_500 }),
  "a transfer that expired": (payments) => scene(payments, "bca", "expire", "expire"),
  "a wallet that refused": (payments) => scene(payments, "gopay", "deny", "deny"),
  "a card that was captured": (payments) =>
    scene(payments, "card_3ds", "three_ds", "capture", { result: "success" }),
  "a capture that was settled": (payments) => scene(payments, "card", "settle", "settlement"),
  "a transfer that still waits": async (payments) => {
    const charged = await payments.charge("bca");
    return { id: charged.id, body: await hookOf(payments, charged.order_id, "pending") };
  },
  "a hold": async (payments) => {
    const token_id = await payments.sandbox.token("4811111111111114");
    const charged = await payments.charge("card_3ds", {
      token_id,
      authorize: true,
    });
    const result = { result: "success" };
    await payments.sandbox.control(`transactions/${charged.transaction_id}/three_ds`, result);
    return { id: charged.id, body: await hookOf(payments, charged.order_id, "authorize") };
  },
  "a challenge": async (payments) => {
    const token_id = await payments.sandbox.token("4511111111111117");
    const charged = await payments.charge("card_3ds", { token_id });
    const result = { result: "success" };
    await payments.sandbox.control(`transactions/${charged.transaction_id}/three_ds`, result);
    return { id: charged.id, body: await hookOf(payments, charged.order_id, "capture") };
  },
  "a charge whose answer was lost": async (payments) => {
    const order_id = `lost-${randomUUID()}-x`;
    await payments.sandbox.fault("charge", "answer_lost");
    const request = { payment_type: "bank_transfer", bank: "bca", gross_amount: 44_000, order_id };
    const answer = await (await payments.post("/charge/", request)).json();
    assert.equal(answer.outcome, "unknown", JSON.stringify(answer));
    return { id: answer.payment_id, body: await hookOf(payments, order_id, "pending") };
  },
  "a refund": async (payments) => {
    const paid = await payments.paid("gopay");
    await payments.sandbox.post(`/v2/${paid.transaction_id}/refund`, {
      refund_key: randomUUID(),
      amount: 4_000,
    });
    return { id: paid.id, body: await hookOf(payments, paid.order_id, "partial_refund") };
  },
};

async function scene(
  payments: TestPayments,
  kind: "bca" | "gopay" | "card" | "card_3ds",
  control: string,
  status: string,
  more?: Json,
): Promise<Scene> {
  const { id, order_id, transaction_id } = await payments.charge(kind);
  await payments.sandbox.control(`transactions/${transaction_id}/${control}`, more);
  return { id, body: await hookOf(payments, order_id, status) };
}

/**
 * What is known of a payment: its state, its amounts, what a customer is shown, what was told; and how
 * many payments there are. In one look, for it is taken thousands of times.
 */
async function standing({ app }: TestPayments, id: string): Promise<Json> {
  const [row] = await app.database.query((sql) =>
    sql`
      select to_jsonb(payment) - ${UNTOLD}::text[] as payment,
        payment.paid_at is not null as was_paid,
        array(select name from gateway.events where resource_id = ${id} order by sequence) as events,
        array(select refund_key || ' ' || amount || ' ' || status from gateway.refunds
          where payment_id = ${id} order by refund_key) as refunds,
        (select count(*)::int from gateway.payments) as payments
      from gateway.payments payment where id = ${id}`
  );
  return { ...row };
}

/** Of these nothing depends, and who tells a state tells its time and what to say of it. */
const UNTOLD = [
  ...["version", "updated_at", "check_at", "paid_at"],
  ...["status_code", "status_message", "settlement_time"],
];

/** Brings a payment back to where it was, as nothing but a test can. */
async function remember(payments: TestPayments, id: string): Promise<() => Promise<void>> {
  const tables = [
    ["payments", "id"],
    ["events", "resource_id"],
    ["history", "resource_id"],
    ["refunds", "payment_id"],
  ] as const;
  const name = (table: string) => `kept_${table}_${id.replaceAll("-", "")}`;
  const each = (statement: (table: string, column: string) => string) =>
    tables.map(([table, column]) => statement(table, column)).join(";");
  await ask(
    payments.databaseUrl,
    each((table, column) =>
      `create table ${name(table)} as select * from gateway.${table} where ${column} = '${id}'`
    ),
  );
  const restore = each((table, column) =>
    `delete from gateway.${table} where ${column} = '${id}';
     insert into gateway.${table} overriding system value select * from ${name(table)}`
  );
  return async () => void await payments.app.database.query((sql) => sql.unsafe(restore).simple());
}

/**
 * Where a payment may stand after a mutant: where it stood, where the gateway says that it does, or
 * where the true notification brings it.
 */
interface Harmless {
  before: string;
  after: string;
  told: string;
}

/** Sends a mutant, and holds what became of it to what may; the payment is then as it was. */
async function assertHarmless(
  payments: TestPayments,
  { id }: Scene,
  mutant: Body,
  { before, after, told }: Harmless,
  restore: () => Promise<void>,
  says: string,
): Promise<number> {
  const { status } = await send(payments, mutant, says);
  if (status !== 200) return status;
  const found = JSON.stringify(await standing(payments, id));
  if (found === before) return status;
  if (found !== after && found !== told) {
    assert.deepEqual(JSON.parse(found), JSON.parse(told), says);
  }
  await restore();
  return status;
}

/** All of them, for a scene; the payment is then as it was. */
async function limitsOf(
  payments: TestPayments,
  { id, body }: Scene,
  restore: () => Promise<void>,
): Promise<Harmless> {
  const before = await standing(payments, id);
  await payments.refresh(id);
  const after = await standing(payments, id);
  await restore();
  await send(payments, JSON.stringify(body));
  const told = await standing(payments, id);
  await restore();
  assert.deepEqual(await standing(payments, id), before);
  // A look may know more of it than what is told, such as until when; but of its state no other.
  assert.deepEqual(told, { ...after, payment: { ...after.payment, ...shownIn(told.payment) } });
  return {
    before: JSON.stringify(before),
    after: JSON.stringify(after),
    told: JSON.stringify(told),
  };
}

function shownIn({ expiry_time, transaction_time, bank }: Json): Json {
  return { expiry_time, transaction_time, bank };
}

/** Ways to spoil any member, be it there or not. */
const ANY: Json[] = [undefined, null, 7, "", "x", "\u0000", "6666", true, [], ["x"], {}];

const STATUSES = [
  ...["pending", "authorize", "capture", "settlement", "deny", "cancel", "expire", "failure"],
  ...["refund", "partial_refund", "chargeback", "partial_chargeback", "partial_settlement"],
];

/** Ways to spoil those that mean something. */
const KNOWING: Record<string, (body: Json) => Json[]> = {
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

/** Every way to spoil one member. */
function mutantsOf(body: Json): [string, Json][] {
  const names = new Set([...Object.keys(body), ...FIELDS, ...Object.keys(KNOWING)]);
  return [...names].flatMap((name) =>
    [...ANY, ...KNOWING[name]?.(body) ?? []].map((value): [string, Json] => [
      `${name} ${JSON.stringify(value)?.slice(0, 60)}`,
      spoilt(body, name, value),
    ])
  );
}

/** The code that is signed means all of these alike, none of them pays, and contract 6 believes it. */
const ENDED = ["deny", "cancel", "expire"];

for (const [name, make] of Object.entries(SCENES)) {
  Deno.test(`one member changed in what is told of ${name}: refused, or harmless`, async () => {
    await using payments = await openPayments({ databaseUrl: await createDatabase() });
    const made = await make(payments);
    const restore = await remember(payments, made.id);
    const limits = await limitsOf(payments, made, restore);
    const seen = new Set<number>();
    for (const [says, mutant] of mutantsOf(made.body)) {
      const status = String(mutant.transaction_status).toLowerCase();
      const isOtherEnd = made.body.status_code === "202" && ENDED.includes(status);
      if (isOtherEnd && status !== made.body.transaction_status) continue;
      const text = JSON.stringify(mutant);
      seen.add(await assertHarmless(payments, made, text, limits, restore, says));
    }
    assert.deepEqual([...seen].sort(), [200, 400, 403]);
  });
}

for (const name of ["a transfer that was paid", "a charge whose answer was lost"]) {
  Deno.test(`one bit changed in what is told of ${name}: refused, or harmless`, async () => {
    await using payments = await openPayments({ databaseUrl: await createDatabase() });
    const made = await SCENES[name]!(payments);
    const restore = await remember(payments, made.id);
    const limits = await limitsOf(payments, made, restore);
    const bytes = new TextEncoder().encode(JSON.stringify(made.body));
    const seen = new Set<number>();
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const mutant = bytes.slice();
      mutant[bit >> 3]! ^= 1 << (bit & 7);
      const says = `bit ${bit}: ${new TextDecoder().decode(mutant)}`;
      seen.add(await assertHarmless(payments, made, mutant, limits, restore, says));
    }
    assert.deepEqual([...seen].sort(), [200, 400, 403]);
  });
}
