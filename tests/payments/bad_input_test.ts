import assert from "node:assert/strict";
import { ProblemSchema } from "../../http/problems/schema.ts";
import { callService } from "../support/client.ts";
import { type Arbitrary, fc } from "../support/fast_check.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

interface Operation {
  method: string;
  path: string;
  responses: Record<string, { description: string }>;
}

/** The operations on charges and payments in the OpenAPI document. */
function operationsOf({ app }: TestPayments): Operation[] {
  return Object.entries(app.document().paths!).flatMap(([path, methods]) =>
    /^\/(charge|payments)\//.test(path)
      ? Object.entries<Json>(methods!).map(([method, { responses }]) => ({
        method: method.toUpperCase(),
        path,
        responses,
      }))
      : []
  );
}

/** Fails unless the response is documented and below 500. Returns its problem, if it has one. */
async function assertDocumented(response: Response, { method, path, responses }: Operation) {
  const text = await response.text();
  const summary = `${method} ${path}: ${response.status} ${text.slice(0, 500)}`;
  assert.ok(response.status < 500, summary);
  const declared = responses[response.status];
  assert.ok(declared, summary);
  const body = JSON.parse(text);
  if (response.status < 400) return null;
  assert.equal(response.headers.get("content-type"), "application/problem+json", summary);
  const problem = ProblemSchema.parse(body);
  assert.equal(problem.instance, response.headers.get("x-request-id"), summary);
  assert.ok(declared.description.includes(`\`${problem.code}\``), summary);
  const areErrorsComplete = problem.errors?.every(({ field, message }) =>
    field !== "" && message !== ""
  );
  if (problem.code === "validation_error") {
    assert.ok(areErrorsComplete && problem.errors!.length > 0, summary);
  }
  return problem;
}

const HOSTILE_VALUES = [
  null,
  true,
  "",
  "0",
  "NaN",
  "\u0000",
  "\ud83d",
  "a\nb",
  "..",
  "'; drop table gateway.payments; --",
  "x".repeat(3000),
  0,
  -1,
  0.5,
  10_000_000_000_000,
  1e308,
  [],
  [[]],
  [null],
  {},
  { a: { b: {} } },
];

const anyJson: Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(...HOSTILE_VALUES),
  fc.json().map((text) => JSON.parse(text)),
  fc.string({ unit: "binary" }),
  fc.integer(),
);

Deno.test("payment routes: answer any input with a documented response or problem", async () => {
  await using payments = await openPayments();
  const { app, key } = payments;
  const operations = operationsOf(payments);
  assert.equal(operations.length, 8);
  const paid = await payments.paid("gopay");
  const authorized = await payments.charge("card_auth");
  const ids = [
    paid.id,
    authorized.id,
    "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
    "x",
    "%00",
    "%ff",
    "'",
  ];
  const input = fc.record({ amount: anyJson, reason: anyJson, direct: anyJson });
  const text = fc.oneof(
    fc.oneof(anyJson, input).map((value) => JSON.stringify(value)),
    fc.json(),
    fc.string(),
  );
  const headers = fc.record({
    "Content-Type": fc.constantFrom(
      "application/json",
      "application/json; charset=utf-8",
      "text/a",
    ),
    // Only the characters that an HTTP client can send in a header.
    "Idempotency-Key": fc.oneof(
      fc.string({ maxLength: 300 }),
      fc.constantFrom("", "k", "ключ", "k".repeat(256)),
    ).map((value) => value.replaceAll(/[^\x20-\xff]|\x7f/g, "")),
  });
  const property = fc.asyncProperty(
    fc.constantFrom(...operations),
    fc.constantFrom(...ids),
    text,
    headers,
    async (operation, id, body, headers) => {
      const path = operation.path.replace("{pk}", id);
      const { method } = operation;
      const response = method === "GET"
        ? await app.as(key, path)
        : await app.as(key, path, { method, headers, body });
      await assertDocumented(response, operation);
    },
  );
  await fc.assert(property, { numRuns: 4_000 });
});

Deno.test("charge: with one field replaced by random input, succeeds or names that field in the error", async () => {
  await using payments = await openPayments();
  const operation = operationsOf(payments).find(({ path }) => path === "/charge/")!;
  const { requestBody } = payments.app.document().paths!["/charge/"]!.post as Json;
  const examples = Object.values<Json>(requestBody.content["application/json"].examples)
    .map(({ value }) => ({
      ...OPTIONAL_FIELDS,
      ...!["credit_card", "ovo"].includes(value.payment_type) && EXPIRY,
      ...value,
    }));
  const charges = fc.oneof(...examples.map((example) =>
    fc.record<Json>({
      example: fc.constantFrom(example),
      path: fc.constantFrom(...fieldPaths(example)),
      value: anyJson,
    })
  ));
  const property = fc.asyncProperty(charges, async ({ example, path, value }) => {
    const response = await payments.post("/charge/", replaceAt(example, path, value));
    const problem = await assertDocumented(response, operation);
    if (problem?.code !== "validation_error") return;
    for (const { field } of problem.errors!) {
      const changedPath = path.join(".");
      // A changed price, quantity or amount is reported as a wrong sum of item_details.
      const isItemSum = field === "item_details" &&
        /^(item_details|gross_amount)/.test(changedPath);
      const isReplacedField = `${field}.`.startsWith(`${changedPath}.`) ||
        `${changedPath}.`.startsWith(`${field}.`);
      assert.ok(isReplacedField || isItemSum, `${changedPath} was changed, ${field} is reported`);
    }
  });
  await fc.assert(property, { numRuns: 5_000 });
});

/** Optional fields that the document's examples do not contain. */
const OPTIONAL_FIELDS = {
  order_id: undefined,
  item_details: [{ name: "A", price: 150_000, quantity: 1, brand: "b", merchant_name: "m" }],
  customer_details: {
    first_name: "B",
    billing_address: { city: "Jakarta", postal_code: "1", country_code: "IDN" },
  },
  metadata: { a: { b: 1 } },
  custom_fields: ["a", "b"],
};

/** Rejected for cards and OVO. */
const EXPIRY = { custom_expiry: { expiry_duration: 1, unit: "day" } };

/** The paths of all fields, including those that hold objects and arrays. */
function fieldPaths(value: Json, path: string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [path];
  const nestedPaths = Object.entries(value).flatMap(([name, member]) =>
    fieldPaths(member, [...path, name])
  );
  return path.length === 0 ? nestedPaths : [path, ...nestedPaths];
}

function replaceAt(target: Json, [name, ...rest]: string[], value: Json): Json {
  if (name === undefined) return value;
  const copy = Array.isArray(target) ? [...target] : { ...target };
  copy[name] = replaceAt(copy[name], rest, value);
  return copy;
}

Deno.test("payment list: with random query parameters, succeeds or names the wrong parameter", async () => {
  await using payments = await openPayments();
  await payments.charge();
  const operation = operationsOf(payments).find(({ path }) => path === "/payments/")!;
  const names = ["payment_type", "status", "limit", "cursor", "unknown"];
  const pair = fc.record({
    name: fc.constantFrom(...names),
    value: fc.oneof(
      fc.constantFrom("", "0", "1", "100", "gopay", "pending", "AZejwl9OfWGfCyxk0bCn5Q", "null"),
      fc.string({ unit: "binary" }),
    ),
  });
  const property = fc.asyncProperty(fc.array(pair, { maxLength: 4 }), async (pairs) => {
    const query = pairs.map(({ name, value }) =>
      `${name}=${encodeURIComponent(value.toWellFormed())}`
    );
    const response = await payments.get(`/payments/?${query.join("&")}`);
    const problem = await assertDocumented(response, operation);
    for (const { field } of problem?.errors ?? []) {
      assert.ok(pairs.some(({ name }) => name === field), field);
    }
  });
  await fc.assert(property, { numRuns: 1_000 });
});

const ACTIONS = ["cancel", "expire", "refund", "capture"];

Deno.test("payment actions: accept a missing body, an empty body and an empty object", async () => {
  await using payments = await openPayments();
  // Only a real connection adds the headers Content-Length and Transfer-Encoding.
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  await using server = Deno.serve(options, payments.app.fetch);
  const bodies: [body: string | undefined, type: string | undefined][] = [
    [undefined, undefined],
    [undefined, "application/json"],
    ["", "application/json"],
    ["{}", "application/json"],
    ["{}", "application/json; charset=utf-8"],
  ];
  for (const [body, type] of bodies) {
    const ids: Record<string, string> = {
      cancel: (await payments.charge("bca")).id,
      expire: (await payments.charge("bca")).id,
      refund: (await payments.paid("gopay")).id,
      capture: (await payments.charge("card_auth")).id,
    };
    for (const action of ACTIONS) {
      const headers = new Headers(type ? { "Content-Type": type } : {});
      headers.set("Authorization", `Bearer ${payments.key}`);
      const url = `http://127.0.0.1:${server.addr.port}/payments/${ids[action]}/${action}/`;
      const response = await callService(url, { method: "POST", headers, body });
      assert.equal(response.status, 200, `${action} ${body} ${type}: ${await response.text()}`);
    }
  }
});

Deno.test("payment actions: reject a body that is not a JSON object", async () => {
  await using payments = await openPayments();
  const { app, key } = payments;
  const { id } = await payments.charge();
  const before = await payments.read(id);
  for (const action of ACTIONS) {
    const send = (body: string, type = "application/json") =>
      app.as(key, `/payments/${id}/${action}/`, {
        method: "POST",
        headers: { "Content-Type": type },
        body,
      });
    for (const body of ["[]", '"{}"', "7", "true"]) {
      const { errors } = await assertProblem(await send(body), 400, "validation_error");
      assert.deepEqual(errors, [{ field: "body", message: "must be an object" }]);
    }
    for (const body of ["{", "x", "{}}"]) {
      await assertProblem(await send(body), 400, "malformed_json");
    }
    await assertProblem(await send("{}", "text/plain"), 415, "unsupported_media_type");
    const large = JSON.stringify({ reason: "x".repeat(256 * 1024) });
    await assertProblem(await send(large), 413, "payload_too_large");
  }
  assert.deepEqual(await payments.read(id), before);
});

Deno.test("refund and capture: reject an amount that is not a whole number above 0", async () => {
  await using payments = await openPayments();
  const paid = await payments.paid("gopay");
  const authorized = await payments.charge("card_auth");
  const amounts = [0, -1, 0.5, 100.01, 1e308, 10_000_000_000_000, "100", "NaN", true, [1], {}];
  for (const [path, payment] of [["refund", paid], ["capture", authorized]] as const) {
    for (const amount of amounts) {
      const response = await payments.post(`/payments/${payment.id}/${path}/`, { amount });
      const { errors } = await assertProblem(response, 400, "validation_error");
      assert.deepEqual(errors!.map(({ field }) => field), ["amount"], `${path} ${amount}`);
    }
    assert.deepEqual(await payments.read(payment.id), payment);
  }
});

Deno.test("refund: rejects a reason that is not one line of up to 255 characters, and a `direct` that is not a boolean", async () => {
  await using payments = await openPayments();
  const paid = await payments.paid("gopay");
  const cases: [Json, string][] = [
    [{ reason: "x".repeat(256) }, "reason"],
    [{ reason: 7 }, "reason"],
    [{ reason: "a\u0000b" }, "reason"],
    [{ direct: "yes" }, "direct"],
    [{ direct: 1 }, "direct"],
  ];
  for (const [body, field] of cases) {
    const response = await payments.post(`/payments/${paid.id}/refund/`, body);
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.deepEqual(errors!.map(({ field }) => field), [field]);
  }
  assert.deepEqual(await payments.read(paid.id), paid);
});

Deno.test("refund: rejects an amount that is one rupiah above the remaining balance", async () => {
  await using payments = await openPayments();
  const { id } = await payments.paid("gopay", { gross_amount: 44_000 });
  const refund = (amount?: number) => payments.post(`/payments/${id}/refund/`, { amount });
  const assertRejected = async (amount: number) => {
    const problem = await assertProblem(await refund(amount), 400, "validation_error");
    assert.deepEqual(problem.errors!.map(({ field }) => field), ["amount"]);
    assert.equal(problem.payment_id, id);
    assert.equal(problem.outcome, "refused");
  };
  await assertRejected(44_001);
  assert.equal((await refund(40_000)).status, 200);
  await assertRejected(4_001);
  await assertRejected(44_000);
  assert.equal((await refund(3_999)).status, 200);
  await assertRejected(2);
  assert.equal((await refund()).status, 200);
  const { refund_amount, net_amount, transaction_status } = await payments.read(id);
  assert.deepEqual(
    { refund_amount, net_amount, transaction_status },
    { refund_amount: "44000.00", net_amount: "0.00", transaction_status: "refund" },
  );
  await assertProblem(await refund(1), 400, "invalid_state");
});

Deno.test("capture: rejects an amount that is one rupiah above the authorized amount", async () => {
  await using payments = await openPayments();
  const { id } = await payments.charge("card_auth", { gross_amount: 44_000 });
  const capture = (amount?: number) => payments.post(`/payments/${id}/capture/`, { amount });
  const { errors } = await assertProblem(await capture(44_001), 400, "validation_error");
  assert.deepEqual(errors!.map(({ field }) => field), ["amount"]);
  assert.equal((await capture(43_999)).status, 200);
  assert.equal((await payments.read(id)).captured_amount, "43999.00");
});

Deno.test("payment routes: every POST rejects an invalid Idempotency-Key", async () => {
  await using payments = await openPayments();
  const { id } = await payments.charge();
  for (const { method, path } of operationsOf(payments)) {
    if (method !== "POST") continue;
    const response = await payments.post(path.replace("{pk}", id), {
      payment_type: "gopay",
      gross_amount: 1,
    }, { "Idempotency-Key": "x".repeat(256) });
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.deepEqual(errors!.map(({ field }) => field), ["Idempotency-Key"], path);
  }
});

Deno.test("idempotency key: ignores the case of the payment id and a trailing slash", async () => {
  await using payments = await openPayments();
  const { id } = await payments.charge("bca");
  const headers = { "Idempotency-Key": "cancel-1" };
  const firstResponse = await payments.post(`/payments/${id}/cancel/`, undefined, headers);
  assert.equal(firstResponse.headers.get("idempotency-replayed"), null);
  const again = await payments.post(`/payments/${id.toUpperCase()}/cancel`, {}, headers);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.deepEqual(await again.json(), await firstResponse.json());
  const problem = await payments.post(`/payments/${id}/expire/`, undefined, headers);
  await assertProblem(problem, 400, "invalid_state");
  assert.equal(
    problem.headers.get("idempotency-replayed"),
    null,
    "a key is separate for each path",
  );
});
