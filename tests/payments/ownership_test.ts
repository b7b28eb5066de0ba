import assert from "node:assert/strict";
import { type Json, savedCard } from "../support/gateway/sandbox.ts";
import { openPayments, parsePayment, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const UNKNOWN_ID = "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5";

interface Route {
  method: string;
  path: string;
}

/** The OpenAPI document's routes of one payment, without reviews, which are for staff only. */
function routesOfOnePayment(app: TestPayments["app"]): Route[] {
  return routesOfOne(app, "payments");
}

function routesOfOne(app: TestPayments["app"], resource: string): Route[] {
  return Object.entries(app.document().paths!).flatMap(([path, methods]) =>
    path.startsWith(`/${resource}/{`)
      ? Object.keys(methods!).map((method) => ({ method: method.toUpperCase(), path }))
      : []
  );
}

async function charge(
  { post }: TestPayments,
  key: string,
  more: Json = {},
  headers: HeadersInit = {},
) {
  const body = { payment_type: "gopay", gross_amount: 44_000, ...more };
  return await parsePayment(await post("/charge/", body, headers, key), 201);
}

/** Returns the problem without its request id. */
async function assertNotFound(response: Response): Promise<Json> {
  const { instance: _, ...rest } = await assertProblem(response, 404, "not_found");
  return rest;
}

Deno.test("ownership: another user's payment gets the same 404 as a missing one on every route", async () => {
  await using payments = await openPayments();
  const { app, key, sandbox } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const alicesPayment = await charge(payments, key);
  const transactionBefore = (await sandbox.control("transactions", undefined, "GET"))[0];

  const routes = routesOfOnePayment(app);
  assert.ok(routes.length >= 6);
  for (const { method, path } of routes) {
    const send = (id: string) => app.as(bob, path.replace("{pk}", id), { method });
    const answers = [
      await assertNotFound(await send(alicesPayment.id)),
      await assertNotFound(await send(UNKNOWN_ID)),
      await assertNotFound(await send("order-1")),
      await assertNotFound(await send(alicesPayment.id.toUpperCase())),
      await assertNotFound(await send(encodeURIComponent(`${alicesPayment.id}'--`))),
    ];
    for (const answer of answers) assert.deepEqual(answer, answers[0], `${method} ${path}`);
  }

  const after = await app.as(key, `/payments/${alicesPayment.id}/`);
  assert.deepEqual(await after.json(), alicesPayment, "the payment is unchanged");
  const [transactionAfter] = await sandbox.control("transactions", undefined, "GET");
  assert.deepEqual(transactionAfter, transactionBefore, "the transaction is unchanged");
});

Deno.test("ownership: concurrent reads of the same payments get them for their owner, and 404 for another user", async () => {
  await using payments = await openPayments();
  const { app, key } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const owned = [
    { owner: key, payment: await charge(payments, key) },
    { owner: bob, payment: await charge(payments, bob) },
  ];
  // Concurrent reads are combined into a few statements.
  const reads = Array.from({ length: 40 }, (_, n) => ({
    reader: n % 2 === 0 ? key : bob,
    ...owned[n % 4 < 2 ? 0 : 1]!,
  }));
  await Promise.all(reads.map(async ({ reader, owner, payment }) => {
    const response = await app.as(reader, `/payments/${payment.id}/`);
    if (reader === owner) assert.deepEqual(await response.json(), payment);
    else await assertNotFound(response);
  }));
});

Deno.test("ownership: another user's invoice or subscription gets the same 404 as a missing one on every route", async () => {
  await using payments = await openPayments();
  const { app, key, post, sandbox } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const invoice = await post("/invoices/", {
    customer_name: "Budi",
    due_date: "2099-12-31",
    items: [{ description: "Beans", price: 75_000, quantity: 1 }],
  });
  const token = await savedCard(sandbox);
  const subscription = await post("/subscriptions/", {
    name: "coffee-club",
    amount: 150_000,
    payment_type: "credit_card",
    token,
    interval: 1,
    interval_unit: "month",
  });
  for (
    const [resource, created] of Object.entries({ invoices: invoice, subscriptions: subscription })
  ) {
    const before = await created.json();
    const routes = routesOfOne(app, resource);
    assert.ok(routes.length >= 3, resource);
    for (const { method, path } of routes) {
      const init = method === "PATCH"
        ? { body: JSON.stringify({ token }), headers: { "Content-Type": "application/json" } }
        : {};
      const send = (id: string) => {
        const target = path.replace("{pk}", id).replace("{action_name}", "cancel");
        return app.as(bob, target, { method, ...init });
      };
      const answers = [
        await assertNotFound(await send(before.id)),
        await assertNotFound(await send(UNKNOWN_ID)),
        await assertNotFound(await send("order-1")),
      ];
      for (const answer of answers) assert.deepEqual(answer, answers[0], `${method} ${path}`);
    }
    const after = await app.as(key, `/${resource}/${before.id}/`);
    assert.deepEqual(await after.json(), before, "the resource is unchanged");
  }
});

Deno.test("ownership: every route finds the payment for its owner and for staff", async () => {
  await using payments = await openPayments();
  const { app, key } = payments;
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  for (const { method, path } of routesOfOnePayment(app)) {
    for (const allowed of [key, staff]) {
      const { id } = await charge(payments, key);
      for (const spelledId of [id, id.toUpperCase()]) {
        const response = await app.as(allowed, path.replace("{pk}", spelledId), { method });
        const text = await response.text();
        // The action may be rejected in this state, but the payment is found.
        assert.ok([200, 400].includes(response.status), `${method} ${path}: ${text}`);
        assert.ok(text.includes(id), `${method} ${path}: ${text}`);
      }
    }
  }
});

Deno.test("ownership: a list contains the caller's own payments, for staff all payments", async () => {
  await using payments = await openPayments();
  const { app, key } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  const owners = [key, bob, key, bob, staff];
  const createdIds = [];
  for (const owner of owners) createdIds.unshift((await charge(payments, owner)).id);
  const listIds = async (caller: string, query = "") => {
    const page = await (await app.as(caller, `/payments/${query}`)).json();
    return page.map(({ id }: Json) => id);
  };
  for (const query of ["", "?status=pending", "?payment_type=gopay&status=pending"]) {
    assert.deepEqual(await listIds(key, query), [createdIds[2], createdIds[4]]);
    assert.deepEqual(await listIds(bob, query), [createdIds[1], createdIds[3]]);
    assert.deepEqual(await listIds(staff, query), createdIds);
  }
});

Deno.test("ownership: another user's cursor returns only the caller's own payments", async () => {
  await using payments = await openPayments();
  const { app, key } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const bobsPayment = await charge(payments, bob);
  await charge(payments, key);
  await charge(payments, key);
  const response = await app.as(key, "/payments/?limit=1");
  const next = response.headers.get("link")!.match(/<(.+)>/)![1]!;
  const page = await (await app.as(bob, next)).json();
  assert.deepEqual(page.map(({ id }: Json) => id), [bobsPayment.id]);
});

Deno.test("ownership: two users with the same Idempotency-Key get separate payments", async () => {
  await using payments = await openPayments();
  const bob = await payments.app.createKey({ userId: "bob" });
  const headers = { "Idempotency-Key": "cart-7" };
  const alicesPayment = await charge(payments, payments.key, {}, headers);
  const bobsPayment = await charge(payments, bob, { gross_amount: 7 }, headers);
  assert.notEqual(bobsPayment.id, alicesPayment.id);
  assert.equal(bobsPayment.gross_amount, "7.00");
});

Deno.test("ownership: an order id used by another user is rejected without details of their payment", async () => {
  await using payments = await openPayments();
  const { app, key } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const alicesPayment = await charge(payments, key, { order_id: "order-1" });
  const charged = { payment_type: "gopay", gross_amount: 7, order_id: "order-1" };
  const response = await payments.post("/charge/", charged, {}, bob);
  const problem = await assertProblem(response, 400, "duplicate_order");
  assert.ok(!JSON.stringify(problem).includes(alicesPayment.id));
  assert.ok(!JSON.stringify(problem).includes("alice"));
});
