import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { insertJobs } from "../../db/jobs/jobs.ts";
import { PUBLIC_URL } from "../support/checkouts/checkouts.ts";
import { runSql } from "../support/database/database.ts";
import { isSignedWith, openWebhooks, type TestWebhooks } from "../support/events/webhooks.ts";
import { buildNotification, notifyAndRead } from "../support/gateway/notifications.ts";
import { AMOUNT, CHALLENGED_CARD, type Json, savedCard } from "../support/gateway/sandbox.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { newJob } from "../support/jobs/jobs.ts";
import { chargeRequest } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { reconcile } from "../support/reports/reconciliations.ts";

interface Request {
  path: string;
  body?: Json | string;
  /** Default: the staff key. */
  key?: string;
}

/** A valid request of each operation that changes something. */
const REQUESTS: Record<string, (setup: TestWebhooks) => Request | Promise<Request>> = {
  createCharge: async ({ sandbox, key }) => ({
    path: "/charge/",
    body: await chargeRequest(sandbox, "gopay"),
    key,
  }),
  cancelPayment: (setup) => ofPayment(setup, setup.charge("bca"), "cancel"),
  expirePayment: (setup) => ofPayment(setup, setup.charge("bca"), "expire"),
  refundPayment: (setup) => ofPayment(setup, setup.paid("gopay"), "refund"),
  capturePayment: (setup) => ofPayment(setup, setup.charge("card_auth"), "capture"),
  approvePayment: async (setup) => ({ path: `/reviews/${await challenged(setup)}/approve/` }),
  denyPayment: async (setup) => ({ path: `/reviews/${await challenged(setup)}/deny/` }),
  markRefundDenied: async (setup) => ({
    path: `/refunds/${await refundAtBank(setup)}/mark-denied/`,
  }),
  createCheckout: ({ key }) => ({ path: "/checkouts/", body: CHECKOUT, key }),
  cancelCheckout: async (setup) => ({
    path: `/checkouts/${await created(setup, "/checkouts/", CHECKOUT)}/cancel/`,
    key: setup.key,
  }),
  createInvoice: ({ key }) => ({ path: "/invoices/", body: INVOICE, key }),
  voidInvoice: async (setup) => ({
    path: `/invoices/${await created(setup, "/invoices/", INVOICE)}/void/`,
    key: setup.key,
  }),
  createSubscription: async (setup) => ({
    path: "/subscriptions/",
    body: await subscription(setup),
    key: setup.key,
  }),
  updateSubscription: async (setup) => ({
    path: `/subscriptions/${await created(setup, "/subscriptions/", await subscription(setup))}/`,
    body: { token: await savedCard(setup.sandbox), amount: 175_000 },
    key: setup.key,
  }),
  changeSubscription: async (setup) => ({
    path: `/subscriptions/${await created(
      setup,
      "/subscriptions/",
      await subscription(setup),
    )}/disable/`,
    key: setup.key,
  }),
  createKey: () => ({ path: "/keys/", body: { user_id: "shop" } }),
  deleteKey: async ({ app }) => ({
    path: `/keys/${(await app.createKey({ userId: "former" })).slice(0, 11)}/`,
  }),
  replayNotification: async (setup) => {
    const { id } = await notifyAndRead(
      setup,
      buildNotification(await setup.charge("gopay"), "pending"),
    );
    return { path: `/notifications/${id}/replay/` };
  },
  createReconciliation: () => ({
    path: "/reconciliations/",
    body: `order_id,amount\n${randomUUID()},1000\n`,
  }),
  resolveReconciliationDifference: async (setup) => ({
    path: `${await difference(setup)}resolve/`,
  }),
  reopenReconciliationDifference: async (setup) => ({ path: `${await difference(setup)}reopen/` }),
  takeOverReconciliationDifference: async (setup) => {
    const order_id = randomUUID();
    await setup.sandbox.paid("gopay", { transaction_details: { order_id } });
    return { path: `${await difference(setup, order_id)}take-over/` };
  },
  takeOverReconciliation: async (setup) => ({
    path: (await difference(setup)).replace(/differences.*$/, "take-over/"),
  }),
  createWebhookEndpoint: ({ receiver }) => ({
    path: "/webhook-endpoints/",
    body: { url: receiver.url },
  }),
  updateWebhookEndpoint: async (setup) => ({
    path: `/webhook-endpoints/${(await setup.endpoint()).id}/`,
    body: { description: "The shop" },
  }),
  deleteWebhookEndpoint: async (setup) => ({
    path: `/webhook-endpoints/${(await setup.endpoint()).id}/`,
  }),
  testWebhookEndpoint: async (setup) => ({
    path: `/webhook-endpoints/${(await setup.endpoint()).id}/test/`,
  }),
  rotateWebhookSecret: async (setup) => ({
    path: `/webhook-endpoints/${(await setup.endpoint()).id}/rotate-secret/`,
  }),
  resendWebhookDelivery: async (setup) => {
    const { id } = await setup.endpoint();
    await setup.charge("gopay");
    const [delivery] = await setup.deliveries(id);
    return { path: `/webhook-endpoints/${id}/deliveries/${delivery!.id}/resend/` };
  },
  retryJob: async ({ app }) => {
    const job = newJob({ task: "prune" });
    await app.database.query((sql) => insertJobs(sql, [job]));
    await app.database.query((sql) =>
      sql`update gateway.jobs set status = 'failed' where id = ${job.id}`
    );
    return { path: `/jobs/${job.id}/retry/` };
  },
};

const CHECKOUT = { gross_amount: 150_000 };

const INVOICE = {
  customer_name: "Budi Utomo",
  customer_email: "budi@example.com",
  due_date: "2099-01-01",
  items: [{ description: "Coffee", quantity: 1, price: 44_000 }],
};

async function subscription({ sandbox }: TestWebhooks): Promise<Json> {
  const token = await savedCard(sandbox);
  const cycle = { interval: 1, interval_unit: "month" };
  return { name: "coffee-club", amount: 150_000, payment_type: "credit_card", token, ...cycle };
}

/** Creates a resource and returns its id. */
async function created({ post }: TestWebhooks, path: string, body: Json): Promise<string> {
  const response = await post(path, body);
  assert.equal(response.status, 201, await response.clone().text());
  return (await response.json()).id;
}

async function ofPayment(
  { key }: TestWebhooks,
  payment: Promise<{ id: string }>,
  action: string,
): Promise<Request> {
  return { path: `/payments/${(await payment).id}/${action}/`, key };
}

async function challenged({ charge, sandbox }: TestWebhooks): Promise<string> {
  return (await charge("card", { token_id: await sandbox.token(CHALLENGED_CARD) })).id;
}

async function refundAtBank({ paid, post, sandbox }: TestWebhooks): Promise<string> {
  const { id } = await paid("gopay");
  await sandbox.fault("refund", "bank_pending");
  return (await (await post(`/payments/${id}/refund/`, {})).json()).refund.id;
}

async function difference(setup: TestWebhooks, orderId = randomUUID()): Promise<string> {
  const { id, differences } = await reconcile(setup, `order_id,amount\n${orderId},${AMOUNT}\n`);
  return `/reconciliations/${id}/differences/${differences[0].id}/`;
}

interface Operation {
  id: string;
  method: string;
  /** Whether the document declares the header. */
  takesKey: boolean;
}

/** The operations that need a credential and change something. */
function operationsOf({ app }: TestWebhooks): Operation[] {
  const { paths }: Json = JSON.parse(JSON.stringify(app.document()));
  return Object.values<Json>(paths).flatMap((methods) =>
    Object.entries<Json>(methods)
      // The gateway's notifications need no credential; they are deduplicated by their content.
      .filter(([method, { security }]) => method !== "get" && security === undefined)
      .map(([method, { operationId, parameters = [] }]) => ({
        id: operationId,
        method: method.toUpperCase(),
        takesKey: parameters.some(({ name }: Json) => name === "Idempotency-Key"),
      }))
  );
}

async function send(
  { app, staff }: TestWebhooks,
  method: string,
  { path, body, key = staff }: Request,
  headers: Record<string, string>,
): Promise<Response> {
  const type = typeof body === "string" ? "text/csv" : "application/json";
  return await app.as(key, path, {
    method,
    headers: { ...headers, ...body !== undefined && { "Content-Type": type } },
    ...body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) },
  });
}

Deno.test("Idempotency-Key: every operation that changes something replays its response, or refuses the header", async () => {
  await using setup = await openWebhooks({ env: { PUBLIC_URL } });
  const operations = operationsOf(setup);
  assert.deepEqual(operations.map(({ id }) => id).sort(), Object.keys(REQUESTS).sort());
  const refusing: string[] = [];
  for (const { id, method, takesKey } of operations) {
    const request = await REQUESTS[id]!(setup);
    const headers = newKey();
    const first = await send(setup, method, request, headers);
    if (!takesKey) {
      const { errors } = await assertProblem(first, 400, "validation_error");
      assert.equal((errors as Json[])[0]!.field, "Idempotency-Key");
      refusing.push(id);
      continue;
    }
    assert.ok(first.ok, `${id}: ${first.status} ${await first.clone().text()}`);
    assert.equal(isReplayed(first), false, id);
    const again = await send(setup, method, request, headers);
    assert.equal(isReplayed(again), true, id);
    // The service stores no API key, so it cannot return the key again.
    if (id === "createKey") {
      const { prefix } = await assertProblem(again, 400, "invalid_state");
      assert.equal(prefix, (await first.json()).prefix);
      continue;
    }
    assert.equal(again.status, first.status, id);
    assert.equal(await again.text(), await first.text(), id);
    for (const name of ["content-type", "location"]) {
      assert.equal(again.headers.get(name), first.headers.get(name), id);
    }
    if (typeof request.body !== "object") continue;
    const changed = { ...request, body: { ...request.body, ...OTHER_BODY[id] ?? OTHER_AMOUNT } };
    const reused = await send(setup, method, changed, headers);
    await assertProblem(reused, 422, "idempotency_key_reused");
  }
  // A file that is uploaded twice is stored once, with or without a key.
  assert.deepEqual(refusing, ["createReconciliation"]);
});

const OTHER_AMOUNT = { amount: 999 };
const OTHER_BODY: Record<string, Json> = {
  createCharge: { gross_amount: 999 },
  createCheckout: { gross_amount: 999 },
  createInvoice: { due_date: "2099-02-02" },
  createWebhookEndpoint: { description: "Another" },
  updateWebhookEndpoint: { description: "Another" },
};

Deno.test("rotate-secret: concurrent and repeated requests with one key create one secret, which is not stored in clear", async () => {
  await using setup = await openWebhooks();
  const { id, secret: original } = await setup.endpoint();
  const path = `/webhook-endpoints/${id}/rotate-secret/`;
  const headers = newKey();
  const rotate = async () => {
    const response = await send(setup, "POST", { path }, headers);
    assert.equal(response.status, 200, await response.clone().text());
    return (await response.json()).secret as string;
  };
  const secrets = new Set(await Promise.all([rotate(), rotate(), rotate()]));
  secrets.add(await rotate());
  assert.equal(secrets.size, 1);
  const [rotated] = secrets as unknown as [string];
  assert.notEqual(rotated, original);

  await send(setup, "POST", { path: `/webhook-endpoints/${id}/test/` }, {});
  const webhook = setup.receiver.received.at(-1)!;
  // The secret of before the rotation is valid for a day.
  for (const secret of [rotated, original]) assert.ok(isSignedWith(secret, webhook));

  const stored = await runSql(
    setup.databaseUrl,
    "select reply::text from gateway.idempotency_keys",
  );
  assert.ok(stored.length > 0);
  for (const { reply } of stored) assert.equal(reply.includes("whsec_"), false);
});

Deno.test("Idempotency-Key: a rejected request can be corrected and sent with the same key", async () => {
  await using setup = await openWebhooks();
  const { id } = await setup.endpoint();
  const headers = newKey();
  const path = `/webhook-endpoints/${id}/`;
  const invalid = await send(setup, "PATCH", { path, body: { enabled: "no" } }, headers);
  await assertProblem(invalid, 400, "validation_error");
  const valid = await send(setup, "PATCH", { path, body: { enabled: false } }, headers);
  assert.equal(valid.status, 200);
  assert.equal(isReplayed(valid), false);
});

Deno.test("Idempotency-Key: a path that cannot be stored is not found", async () => {
  await using setup = await openWebhooks();
  for (const id of ["a".repeat(5_000), "%00", "a%00b"]) {
    const path = `/jobs/${id}/retry/`;
    await assertProblem(await send(setup, "POST", { path }, newKey()), 404, "not_found");
    const key = { path: `/keys/${id}/` };
    await assertProblem(await send(setup, "DELETE", key, newKey()), 404, "not_found");
  }
});

Deno.test("Idempotency-Key: a forbidden request can be repeated with a staff key of the same user", async () => {
  await using setup = await openWebhooks();
  const { id } = await setup.endpoint();
  const path = `/webhook-endpoints/${id}/test/`;
  const [key, staff] = [await setup.app.createKey(), await setup.app.createKey({ isStaff: true })];
  const headers = newKey();
  for (let attempt = 1; attempt <= 2; attempt++) {
    const refused = await send(setup, "POST", { path, key }, headers);
    await assertProblem(refused, 403, "forbidden");
    assert.equal(isReplayed(refused), false);
  }
  const accepted = await send(setup, "POST", { path, key: staff }, headers);
  assert.equal(accepted.status, 200);
  assert.equal(isReplayed(accepted), false);
});
