import assert from "node:assert/strict";
import { runSql } from "../support/database/database.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { assertProblem } from "../support/problem.ts";
import {
  openSubscriptions,
  parseSubscription,
  type TestSubscriptions,
} from "../support/records/subscriptions.ts";

/** Fails if anything was stored or sent. */
async function assertUntouched({ databaseUrl, relay }: TestSubscriptions): Promise<void> {
  for (const table of ["subscriptions", "idempotency_keys", "jobs", "events"]) {
    assert.equal((await runSql(databaseUrl, `select from gateway.${table}`)).length, 0, table);
  }
  assert.deepEqual(relay.received, []);
}

const AMOUNT = "must be a whole number from 1 to 99999999999";
const INTERVAL = "must be a whole number from 1 to 1000";
const NAME = "must contain only letters, digits, spaces, - _ ~ and ., because the gateway begins " +
  "the order ids of its charges with it";
const TIME = "must be a time such as 2026-12-31T09:00:00Z";
const METADATA = "must be at most 900 bytes as JSON";
const RESERVED = "is a reserved name; use another name";
const UNITS = "must be one of day, week, month";

const DAILY = { interval: 1, interval_unit: "day", max_interval: 3 };

/** Changes to a valid request that each make one field invalid. */
const INVALID: [field: string, message: string, more: Json][] = [
  ["name", "is required", { name: undefined }],
  ["name", "is required", { name: null }],
  ["name", "must not be empty", { name: "" }],
  ["name", "must be a string", { name: 5 }],
  ["name", "must be at most 40 characters", { name: "x".repeat(41) }],
  ...["a/b", "a#b", "é", "a\u00a0b", "😀", "a?b", "a+b", "a%20b", "name;drop"].map((name) =>
    ["name", NAME, { name }] as [string, string, Json]
  ),
  ["name", "must not contain control characters", { name: "a\nb" }],
  ["amount", "is required", { amount: undefined }],
  ...[0, -1, 0.5, 150_000.01, 1e11, 1e20, "150000", true, [], {}].map((amount) =>
    ["amount", AMOUNT, { amount }] as [string, string, Json]
  ),
  ["payment_type", "is required", { payment_type: undefined }],
  ...["bank_transfer", "", "PAYPAL", 1].map((payment_type) =>
    ["payment_type", "must be one of credit_card, gopay", { payment_type }] as [
      string,
      string,
      Json,
    ]
  ),
  ["token", "is required", { token: undefined }],
  ["token", "must not be empty", { token: "" }],
  ["token", "must be a string", { token: ["t"] }],
  ["token", "must be at most 2000 characters", { token: "t".repeat(2001) }],
  ["token", "must not contain control characters", { token: "t\0" }],
  ["gopay_account_id", "is required", { payment_type: "gopay" }],
  ["interval", "is required", { interval: undefined }],
  ...[0, -1, 1.5, 1001, "1", true, 1e300].map((interval) =>
    ["interval", INTERVAL, { interval }] as [string, string, Json]
  ),
  ["interval_unit", "is required", { interval_unit: undefined }],
  ...["year", "minute", "months", "Month", "", 1, ["day"]].map((interval_unit) =>
    ["interval_unit", UNITS, { interval_unit }] as [string, string, Json]
  ),
  ...[-1, 1.5, 10_001, "12", false].map((max_interval) =>
    ["max_interval", "must be a whole number from 0 to 10000", { max_interval }] as [
      string,
      string,
      Json,
    ]
  ),
  ...[
    "tomorrow",
    "2098-01-01",
    "2098-01-01T09:00:00",
    "2098-02-30T00:00:00Z",
    4_000_000_000,
    "",
    {},
  ]
    .map((start_time) => ["start_time", TIME, { start_time }] as [string, string, Json]),
  ...["9999-12-31T23:59:59-01:00", "9999-12-31T17:00:00Z"].map((start_time) =>
    ["start_time", "must be in the years 1970 to 9999", { start_time }] as [string, string, Json]
  ),
  ["start_time", "must be in the future", { start_time: "2001-01-01T00:00:00Z" }],
  ["start_time", "must be in the future", { start_time: "0000-01-01T00:00:00Z" }],
  ["retry_schedule", "must be an object", { retry_schedule: 3 }],
  ["retry_schedule.interval", INTERVAL, { retry_schedule: { ...DAILY, interval: 0 } }],
  [
    "retry_schedule.interval_unit",
    "must be one of minute, hour, day",
    { retry_schedule: { ...DAILY, interval_unit: "month" } },
  ],
  [
    "retry_schedule.max_interval",
    "must be a whole number from 0 to 3",
    { retry_schedule: { ...DAILY, max_interval: 4 } },
  ],
  ["retry_schedule.max_interval", "is required", {
    retry_schedule: { ...DAILY, max_interval: undefined },
  }],
  ["customer_details", "must be an object", { customer_details: "Budi" }],
  ["customer_details.email", "must be an email address", { customer_details: { email: "budi" } }],
  ["customer_details.first_name", "must be a string", { customer_details: { first_name: 1 } }],
  ["metadata", "must be an object", { metadata: "gold" }],
  ["metadata", "must be an object", { metadata: ["gold"] }],
  // The limit is in bytes, not characters.
  ["metadata", METADATA, { metadata: { text: "x".repeat(900) } }],
  ["metadata", METADATA, { metadata: { text: "é".repeat(450) } }],
  ...["payment_ref", "subscription_ref", "invoice_ref", "midtrans_invoice_id", "extra_info"].map(
    (name) =>
      [`metadata.${name}`, RESERVED, { metadata: { [name]: null } }] as [string, string, Json],
  ),
];

Deno.test("subscription: rejects each invalid field by name, without storing or sending anything", async () => {
  await using subscriptions = await openSubscriptions();
  for (const [field, message, more] of INVALID) {
    const request = { ...await subscriptions.request({ token: "t" }), ...more };
    const response = await subscriptions.post("/subscriptions/", request, {
      "Idempotency-Key": "k",
    });
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.deepEqual(errors, [{ field, message }], JSON.stringify(more).slice(0, 200));
  }
  await assertUntouched(subscriptions);
});

Deno.test("subscription: reports all invalid fields at once", async () => {
  await using subscriptions = await openSubscriptions();
  const response = await subscriptions.post("/subscriptions/", {
    name: "/",
    amount: 0,
    payment_type: "gopay",
    interval: 0,
    interval_unit: "year",
  });
  const { errors } = await assertProblem(response, 400, "validation_error");
  assert.deepEqual(errors!.map(({ field }) => field).toSorted(), [
    "amount",
    "gopay_account_id",
    "interval",
    "interval_unit",
    "name",
    "token",
  ]);
  await assertUntouched(subscriptions);
});

Deno.test("subscription: rejects a body that is not a JSON object", async () => {
  await using subscriptions = await openSubscriptions();
  const { app, key } = subscriptions;
  const post = (body: string, type = "application/json") =>
    app.as(key, "/subscriptions/", { method: "POST", headers: { "Content-Type": type }, body });
  await assertProblem(await post("{"), 400, "malformed_json");
  await assertProblem(await post(""), 400, "malformed_json");
  for (const body of ["null", "[]", '"x"', "5"]) {
    await assertProblem(await post(body), 400, "validation_error");
  }
  await assertProblem(await post("name=x", "text/plain"), 415, "unsupported_media_type");
  const huge = JSON.stringify({ name: "x".repeat(300_000) });
  await assertProblem(await post(huge), 413, "payload_too_large");
  await assertUntouched(subscriptions);
});

Deno.test("subscription: accepts values just within the limits, and the gateway accepts them", async () => {
  await using subscriptions = await openSubscriptions();
  const requests: Json[] = [
    { name: "x".repeat(40), amount: 99_999_999_999, interval: 1000, max_interval: 10_000 },
    { name: "1", amount: 1, max_interval: 0, interval_unit: "day" },
    { metadata: { text: "x".repeat(889) }, retry_schedule: { ...DAILY, max_interval: 0 } },
    { name: "~._- ", interval_unit: "week", customer_details: {} },
    { max_interval: null, start_time: null, retry_schedule: null, metadata: null },
  ];
  for (const more of requests) {
    const created = await subscriptions.create(more);
    const { id, name, amount } = await subscriptions.atGateway(created);
    assert.deepEqual([id, name], [created.gateway_subscription_id, created.name]);
    assert.equal(`${amount}.00`, created.amount);
    assert.equal(created.name, more.name ?? "coffee-club");
    assert.deepEqual(created.metadata, more.metadata ?? null);
  }
});

Deno.test("subscription routes: reject unknown actions and unsupported methods", async () => {
  await using subscriptions = await openSubscriptions();
  const { id } = await subscriptions.create();
  for (const action of ["pause", "Disable", "void", "cancel%20", "__proto__", "toString", "%00"]) {
    const response = await subscriptions.act(id, action);
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.deepEqual(errors, [{
      field: "action_name",
      message: "must be one of disable, enable, cancel",
    }], action);
  }
  const { app, key, relay } = subscriptions;
  const methods = [
    ["GET", `/subscriptions/${id}/disable/`, "POST"],
    ["DELETE", `/subscriptions/${id}/`, "GET"],
    ["PUT", "/subscriptions/", "GET, POST"],
  ] as const;
  for (const [method, path, allow] of methods) {
    const response = await app.as(key, path, { method });
    const allowed = response.headers.get("allow")!.split(", ");
    for (const each of allow.split(", ")) assert.ok(allowed.includes(each), `${method} ${path}`);
    await assertProblem(response, 405, "method_not_allowed");
  }
  assert.equal(relay.received.length, 1);
  assert.equal((await subscriptions.stored(id)).status, "active");
});

Deno.test("subscription actions: accept a missing body and an empty object, and reject a body that is not an object", async () => {
  await using subscriptions = await openSubscriptions();
  const { id } = await subscriptions.create();
  const act = (action: string, body?: unknown) =>
    subscriptions.post(`/subscriptions/${id}/${action}/`, body);
  for (const body of [[], 5, "x"]) {
    await assertProblem(await act("disable", body), 400, "validation_error");
  }
  assert.equal((await parseSubscription(await act("disable", {}), 200)).status, "disabled");
  assert.equal((await parseSubscription(await act("enable"), 200)).status, "active");
  // A path without the trailing slash works, too.
  const response = await subscriptions.post(`/subscriptions/${id}/cancel`);
  assert.equal((await parseSubscription(response, 200)).status, "cancelled");
});

Deno.test("subscription routes: answer an unknown or invalid id with 404", async () => {
  await using subscriptions = await openSubscriptions();
  for (const id of ["none", "1", "%00", "00000000-0000-0000-0000-000000000000", "a%2Fb"]) {
    await assertProblem(await subscriptions.get(`/subscriptions/${id}/`), 404, "not_found");
    await assertProblem(await subscriptions.act(id, "cancel"), 404, "not_found");
  }
  await assertUntouched(subscriptions);
});

Deno.test("subscription list: names the invalid query parameter", async () => {
  await using subscriptions = await openSubscriptions();
  const queries = [
    ["status=paid", "status"],
    ["status=", "status"],
    ["status=ACTIVE", "status"],
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["limit=x", "limit"],
    ["cursor=x", "cursor"],
  ];
  for (const [query, field] of queries) {
    const response = await subscriptions.get(`/subscriptions/?${query}`);
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.deepEqual(errors!.map((error) => error.field), [field], query);
  }
});

Deno.test("subscription creation: is stored as failed, without an event, if the gateway rejects it", async () => {
  await using subscriptions = await openSubscriptions();
  subscriptions.relay.intercept = () =>
    Response.json({ status_message: "Invalid parameter." }, { status: 400 });
  const request = await subscriptions.request({ token: "t" });
  const response = await subscriptions.post("/subscriptions/", request);
  const { subscription_id } = await assertProblem(response, 400, "gateway_validation");
  assert.equal((await subscriptions.stored(subscription_id!)).status, "failed");
  assert.deepEqual(await subscriptions.transitions(subscription_id!), [
    ">pending create",
    "pending>failed create",
  ]);
  assert.deepEqual(await subscriptions.readEvents(subscription_id!), []);
});

Deno.test("subscription: rejects an invalid Idempotency-Key", async () => {
  await using subscriptions = await openSubscriptions();
  const request = await subscriptions.request({ token: "t" });
  for (const key of ["", "x".repeat(256)]) {
    const headers = { "Idempotency-Key": key };
    const response = await subscriptions.post("/subscriptions/", request, headers);
    await assertProblem(response, 400, "validation_error");
  }
  await assertUntouched(subscriptions);
});

Deno.test("subscription routes: reject a request without a valid credential", async () => {
  await using subscriptions = await openSubscriptions();
  const { app } = subscriptions;
  const { id } = await subscriptions.create();
  const body = JSON.stringify(await subscriptions.request({ token: "t" }));
  const json = { "Content-Type": "application/json" };
  const calls: [string, RequestInit][] = [
    ["/subscriptions/", {}],
    ["/subscriptions/", { method: "POST", body, headers: json }],
    [`/subscriptions/${id}/`, {}],
    ...["disable", "enable", "cancel"].map((action) =>
      [`/subscriptions/${id}/${action}/`, { method: "POST" }] as [string, RequestInit]
    ),
  ];
  for (const [path, init] of calls) {
    for (const credential of [null, "Bearer gk_wrong", "Basic YTpi"]) {
      const headers = new Headers(init.headers);
      if (credential) headers.set("Authorization", credential);
      const response = await app.request(path, { ...init, headers });
      assert.equal(response.headers.get("www-authenticate"), "Bearer");
      await assertProblem(response, 401, "unauthenticated");
    }
  }
  assert.equal(subscriptions.relay.received.length, 1);
  assert.equal((await subscriptions.stored(id)).status, "active");
});
