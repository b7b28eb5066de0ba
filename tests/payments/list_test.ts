import { z } from "@hono/zod-openapi";
import assert from "node:assert/strict";
import { OTHER_PAYMENT_TYPES, PAYMENT_TYPES } from "../../core/payments/payment_types.ts";
import { PaymentSummarySchema } from "../../core/payments/schema.ts";
import { PAYMENT_STATUSES } from "../../core/payments/states.ts";
import { listPayments } from "../../db/payments/lists.ts";
import { createDatabase } from "../support/database/database.ts";
import { rowsRead } from "../support/database/rows_read.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { openPayments, parsePayment, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const Page = z.array(PaymentSummarySchema);

/** Creates `count` payments and returns their ids, newest first. */
async function chargeMany(payments: TestPayments, count: number, more?: Json): Promise<string[]> {
  const ids = [];
  for (let made = 0; made < count; made++) ids.unshift((await payments.charge("gopay", more)).id);
  return ids;
}

async function readPage(payments: TestPayments, path: string) {
  const response = await payments.get(path);
  assert.equal(response.status, 200);
  const page = Page.parse(await response.json());
  const link = response.headers.get("link");
  const next = link === null ? null : link.match(/^<([^<>\s]+)>; rel="next"$/)?.[1];
  assert.notEqual(next, undefined, `malformed Link header: ${link}`);
  return { page, ids: page.map(({ id }) => id), next: next ?? null };
}

/** Follows the links to the last page; calls `between` before each page except the first. */
async function readAll(payments: TestPayments, path: string, between = async () => {}) {
  const pages: string[][] = [];
  for (let next: string | null = path; next !== null;) {
    if (pages.length > 0) await between();
    const read = await readPage(payments, next);
    pages.push(read.ids);
    next = read.next;
  }
  return pages;
}

Deno.test("payment list: is an array of payment summaries, newest first", async () => {
  await using payments = await openPayments();
  const firstPayment = await payments.charge();
  const secondPayment = await payments.charge("qris", {
    customer_details: { email: "budi@shop.example" },
  });
  const response = await payments.get("/payments/");
  assert.equal(response.headers.get("link"), null);
  assert.deepEqual(
    await response.json(),
    [secondPayment, firstPayment].map((payment) => ({
      id: payment.id,
      order_id: payment.order_id,
      payment_type: payment.payment_type,
      gross_amount: payment.gross_amount,
      transaction_status: payment.transaction_status,
      fraud_status: payment.fraud_status,
      customer_first_name: payment.customer_first_name,
      customer_email: payment.customer_email,
      settlement_time: payment.settlement_time,
      refund_amount: payment.refund_amount,
      net_amount: payment.net_amount,
      is_paid: payment.is_paid,
      created_at: payment.created_at,
    })),
  );
});

Deno.test("payment list: is empty for a caller without payments, with or without a trailing slash", async () => {
  await using payments = await openPayments();
  for (const path of ["/payments/", "/payments"]) {
    assert.deepEqual(await readPage(payments, path), { page: [], ids: [], next: null });
  }
});

Deno.test("payment list: the next links visit each payment once while new ones are created", async () => {
  await using payments = await openPayments();
  const ids = await chargeMany(payments, 7);
  const pages = await readAll(
    payments,
    "/payments/?limit=3",
    async () => void await payments.charge(),
  );
  assert.deepEqual(pages, [ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)]);
});

Deno.test("payment list: a full last page has no next link", async () => {
  await using payments = await openPayments();
  const ids = await chargeMany(payments, 4);
  assert.deepEqual(await readAll(payments, "/payments/?limit=2"), [ids.slice(0, 2), ids.slice(2)]);
  assert.deepEqual(await readAll(payments, "/payments/?limit=4"), [ids]);
});

Deno.test("payment list: limit defaults to 50 and must be 1 to 100", async () => {
  await using payments = await openPayments();
  const ids = await chargeMany(payments, 51);
  const { ids: page, next } = await readPage(payments, "/payments/");
  assert.deepEqual(page, ids.slice(0, 50));
  assert.equal(new URL(next!, "http://localhost").searchParams.get("limit"), "50");
  assert.deepEqual((await readPage(payments, "/payments/?limit=100")).ids, ids);
  for (const limit of ["0", "101", "-1", "1.5", "ten", "", "1e1", " 5"]) {
    const response = await payments.get(`/payments/?limit=${limit}`);
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.deepEqual(errors, [{
      field: "limit",
      message: "must be a whole number from 1 to 100",
    }]);
  }
});

Deno.test("payment list: filters by payment_type and status, and the next link keeps the filters", async () => {
  await using payments = await openPayments();
  const gopayIds = await chargeMany(payments, 3);
  const qrisIds = await chargeMany(payments, 3, { payment_type: "qris" });
  for (const id of [gopayIds[0], qrisIds[0], qrisIds[2]]) {
    const path = `/payments/${id}/cancel/`;
    assert.equal((await payments.post(path)).status, 200);
  }
  const cases: [query: string, expected: (string | undefined)[]][] = [
    ["payment_type=gopay", gopayIds],
    ["payment_type=qris", qrisIds],
    ["payment_type=ovo", []],
    ["status=cancel", [qrisIds[0], qrisIds[2], gopayIds[0]]],
    ["status=pending", [qrisIds[1], gopayIds[1], gopayIds[2]]],
    ["status=settlement", []],
    ["payment_type=qris&status=cancel", [qrisIds[0], qrisIds[2]]],
    ["payment_type=gopay&status=pending", [gopayIds[1], gopayIds[2]]],
  ];
  for (const [query, expected] of cases) {
    const pages = await readAll(payments, `/payments/?${query}&limit=1`);
    assert.deepEqual(pages.flat(), expected, query);
    assert.deepEqual((await readPage(payments, `/payments/?${query}`)).ids, expected, query);
  }
});

Deno.test("payment list: order_id finds the payment for its owner and staff without reading other payments", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  const { app, databaseUrl } = payments;
  const [bob, staff] = [
    await app.createKey({ userId: "bob" }),
    await app.createKey({ userId: "carol", isStaff: true }),
  ];
  const otherIds = await chargeMany(payments, 30);
  const { id } = await payments.charge("gopay", { order_id: "order-1017" });
  await chargeMany(payments, 3);
  const find = async (query: string, key?: string) => {
    const response = await payments.get(`/payments/?${query}`, key);
    return Page.parse(await response.json()).map((payment) => payment.id);
  };
  assert.deepEqual(await find("order_id=order-1017"), [id]);
  assert.deepEqual(await find("order_id=order-1017", staff), [id]);
  assert.deepEqual(await find("order_id=order-1017", bob), []);
  assert.deepEqual(await find("order_id=order-101"), []);
  assert.deepEqual(await find("order_id=order-1017&payment_type=gopay&status=pending"), [id]);
  assert.deepEqual(await find("order_id=order-1017&payment_type=qris"), []);
  assert.deepEqual(await find("order_id=order-1017&status=settlement"), []);
  assert.deepEqual(await find(`order_id=order-1017&invoice_id=${id}`), []);
  assert.deepEqual(await find(`subscription_id=${id}`), []);
  const read = await rowsRead(
    databaseUrl,
    (database) =>
      database.query((sql) =>
        listPayments(sql, {
          owner: "alice",
          order_id: "order-1017",
          after: null,
          limit: 50,
        })
      ),
  );
  assert.ok(read < otherIds.length, `${read} rows were read for one`);
});

Deno.test("payment list: rejects an invalid order_id, invoice_id or subscription_id", async () => {
  await using payments = await openPayments();
  const cases = [
    ["order_id", "", "must not be empty"],
    ["order_id", "%00", "must not contain control characters"],
    ["invoice_id", "17", "must be a UUID"],
    ["subscription_id", "", "must be a UUID"],
  ] as const;
  for (const [field, value, message] of cases) {
    const response = await payments.get(`/payments/?${field}=${value}`);
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.deepEqual(errors, [{ field, message }]);
  }
});

Deno.test("payment list: rejects an unknown payment_type or status and names the allowed ones", async () => {
  await using payments = await openPayments();
  const cases = [
    [
      "payment_type",
      ["", "PAYPAL", "paypal", "paypal,ovo", "pay-pal", "boku", "akulaku_va_2"],
      `must be one of ${[...PAYMENT_TYPES, ...OTHER_PAYMENT_TYPES].join(", ")}`,
    ],
    ["payment_type", ["qrid", "Qris", "QRIS", "qr"], "is not known; did you mean qris?"],
    ["payment_type", ["card", "Visa"], "is not known; did you mean credit_card?"],
    [
      "payment_type",
      ["bank", "bca", "bni_va", "virtual-account"],
      "is not known; did you mean bank_transfer?",
    ],
    ["payment_type", ["mandiri"], "is not known; did you mean echannel?"],
    ["payment_type", ["indomaret", "alfamart"], "is not known; did you mean cstore?"],
    [
      "status",
      ["paid", "", "Pending", "pending'--"],
      `must be one of ${PAYMENT_STATUSES.join(", ")}`,
    ],
  ] as const;
  for (const [name, values, message] of cases) {
    for (const value of values) {
      const response = await payments.get(`/payments/?${name}=${value}`);
      const { errors } = await assertProblem(response, 400, "validation_error");
      assert.deepEqual(errors, [{ field: name, message }], value);
    }
  }
});

Deno.test("payment list: accepts the gateway's types that only payments of invoices have", async () => {
  await using payments = await openPayments();
  const query = OTHER_PAYMENT_TYPES.map((type) => `payment_type=${type}`).join("&");
  assert.deepEqual(await (await payments.get(`/payments/?${query}`)).json(), []);
});

Deno.test("payment list: accepts the type of an adopted payment, and explains it before there is one", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase() });
  const { id } = await payments.charge("bca");
  const find = (type: string) => payments.get(`/payments/?payment_type=${type}`);
  const { errors } = await assertProblem(await find("permata"), 400, "validation_error");
  const message = "is not known; did you mean bank_transfer?";
  assert.deepEqual(errors, [{ field: "payment_type", message }]);
  await payments.app.database.query((sql) =>
    sql`update gateway.payments set payment_type = 'permata' where id = ${id}`
  );
  const found: Json[] = await (await find("permata")).json();
  assert.deepEqual(found.map((each) => each.id), [id]);
});

Deno.test("payment list: rejects a cursor that the service did not issue", async () => {
  await using payments = await openPayments();
  const [newest] = await chargeMany(payments, 2);
  const { next } = await readPage(payments, "/payments/?limit=1");
  const cursor = new URL(next!, "http://localhost").searchParams.get("cursor")!;
  assert.ok(!cursor.includes(newest!), "the cursor is opaque");
  const invalidCursors = [
    "",
    "x",
    newest!,
    cursor.slice(1),
    `${cursor}A`,
    `${cursor}=`,
    `${cursor}&cursor=${cursor}`,
    encodeURIComponent(`${cursor.slice(0, -1)}/`),
    "%00",
    "0",
  ];
  for (const value of invalidCursors) {
    const response = await payments.get(`/payments/?cursor=${value}`);
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.deepEqual(errors!.map(({ field }) => field), ["cursor"], value);
  }
});

Deno.test("payment list: the next link includes BASE_PATH", async () => {
  await using payments = await openPayments({ env: { BASE_PATH: "/shop/pay" } });
  const charge = { payment_type: "gopay", gross_amount: 44_000 };
  const older = await parsePayment(await payments.post("/shop/pay/charge/", charge), 201);
  assert.equal((await payments.post("/shop/pay/charge/", charge)).status, 201);
  const { next } = await readPage(payments, "/shop/pay/payments?limit=1&status=pending");
  assert.ok(next!.startsWith("/shop/pay/payments/?"), next!);
  assert.deepEqual(await readAll(payments, next!), [[older.id]]);
});
