import assert from "node:assert/strict";
import { EventSchema } from "../../routes/events/schemas.ts";
import {
  NotificationReceiptSchema,
  NotificationSchema,
} from "../../routes/notifications/schemas.ts";
import { sign } from "../../sandbox/transactions/signature.ts";
import { callService } from "../support/client.ts";
import { openCollector } from "../support/collector.ts";
import { createDatabase } from "../support/database/database.ts";
import { type Json, SERVER_KEY } from "../support/gateway/sandbox.ts";
import { openPayments, type Payment, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { PATIENT, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

const UNKNOWN_ID = "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5";
const STAFF = { userId: "ops", isStaff: true };
const JSON_TYPE = { "Content-Type": "application/json" };
const LOW_LIMIT = { RATE_LIMIT_PER_SECOND: "2", RATE_LIMIT_BURST: "3" };

interface Sender {
  /** The address at the other end of the connection. */
  address?: string;
  headers?: Record<string, string>;
  basePath?: string;
}

/** Sends a body, which may be invalid, from the given address. */
async function send(
  { app }: TestPayments,
  body: BodyInit | null,
  { address = "203.0.113.1", headers = JSON_TYPE, basePath = "" }: Sender = {},
): Promise<Response> {
  const url = `http://localhost${basePath}/notification/`;
  const remoteAddr = { transport: "tcp", hostname: address, port: 1 } as const;
  return await app.fetch(new Request(url, { method: "POST", body, headers }), { remoteAddr });
}

/** Sends a notification that must be accepted; returns its id. */
async function notify(payments: TestPayments, payload: Json, from?: Sender): Promise<string> {
  const response = await send(payments, JSON.stringify(payload), from);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const { notification_id } = NotificationReceiptSchema.parse(JSON.parse(text));
  assert.ok(notification_id);
  return notification_id;
}

/** A signed notification of a pending payment. */
function pendingNotification(
  { order_id, transaction_id, payment_type }: Payment,
  more: Json = {},
): Json {
  return signed({
    order_id,
    transaction_id,
    payment_type,
    transaction_status: "pending",
    fraud_status: "accept",
    status_code: "201",
    gross_amount: "44000.00",
    ...more,
  });
}

function signed(payload: Json): Json {
  const { order_id, status_code, gross_amount } = payload;
  return { ...payload, signature_key: sign(order_id, status_code, gross_amount, SERVER_KEY) };
}

/** About an order that the service does not know. */
const OF_UNKNOWN_ORDER = {
  transaction_status: "settlement",
  status_code: "200",
  gross_amount: "1000.00",
};

const FORGED = JSON.stringify({
  order_id: "order-1",
  transaction_status: "settlement",
  status_code: "200",
  gross_amount: "44000.00",
  signature_key: sign("order-1", "200", "44000.00", "a guess"),
});

async function listNotifications(
  payments: TestPayments,
  staff: string,
  query = "",
): Promise<Json[]> {
  const response = await payments.get(`/notifications/${query}`, staff);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return NotificationSchema.array().parse(JSON.parse(text));
}

async function listEvents(payments: TestPayments, staff: string, query = ""): Promise<Json[]> {
  const response = await payments.get(`/events/${query}`, staff);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return EventSchema.array().parse(JSON.parse(text));
}

/** Waits until the API shows `count` events; it shows an event only after it was published. */
async function untilShown(payments: TestPayments, staff: string, count: number): Promise<void> {
  const countShown = async () => (await listEvents(payments, staff, "?limit=100")).length;
  await until(`${count} events are shown`, async () => await countShown() === count);
}

function idsOf(rows: Json[]): string[] {
  return rows.map(({ id }) => id);
}

function nextOf(response: Response): string | undefined {
  return response.headers.get("link")?.match(/^<(.+)>; rel="next"$/)?.[1];
}

/** The ids on each page, following the Link headers from the first page. */
async function listPages({ get }: TestPayments, staff: string, first: string): Promise<string[][]> {
  const found: string[][] = [];
  for (let path: string | undefined = first; path !== undefined;) {
    const response: Response = await get(path, staff);
    assert.equal(response.status, 200, path);
    found.push(idsOf(await response.json()));
    path = nextOf(response);
  }
  return found;
}

Deno.test("notification: is accepted from any sender with a valid signature, and can be listed", async () => {
  await using payments = await openPayments();
  const { app, sandbox } = payments;
  const staff = await app.createKey(STAFF);
  const { id, transaction_id, order_id } = await payments.charge();
  await sandbox.waitForWebhooks();
  await sandbox.control(`transactions/${transaction_id}/pay`);
  await sandbox.waitForWebhooks();
  const { text, body } = sandbox.hooks.at(-1)!;
  assert.equal(body.transaction_status, "settlement");

  const response = await send(payments, text);

  assert.equal(response.status, 200);
  const { status, notification_id } = NotificationReceiptSchema.parse(await response.json());
  assert.equal(status, "ok");
  assert.equal((await payments.read(id)).is_paid, true);
  const [notification, ...otherNotifications] = await listNotifications(payments, staff);
  assert.deepEqual(otherNotifications, []);
  const { signature_key: _, ...rest } = body;
  assert.deepEqual(notification.raw_payload, rest);
  assert.deepEqual(
    [
      notification.id,
      notification.payment_id,
      notification.order_id,
      notification.transaction_id,
      notification.status,
    ],
    [notification_id, id, order_id, transaction_id, "processed"],
  );
  assert.deepEqual(
    [
      notification.transaction_status,
      notification.status_code,
      notification.gross_amount,
      notification.error_message,
    ],
    ["settlement", "200", "44000.00", null],
  );
});

Deno.test("notification: ignores a credential, whether it is valid or not", async () => {
  await using payments = await openPayments();
  const payload = pendingNotification(await payments.charge());
  for (const credential of ["Bearer wrong", "Basic eDp5", `Bearer ${payments.key}`]) {
    await notify(payments, payload, { headers: { ...JSON_TYPE, Authorization: credential } });
  }
});

Deno.test("notification: is stored with the spelling, types and unknown fields that were sent", async () => {
  await using payments = await openPayments();
  const staff = await payments.app.createKey(STAFF);
  const more = {
    transaction_status: "Pending",
    merchant_id: 7,
    settlement_time: null,
    va_numbers: [{ bank: "bca", va_number: "1" }],
    unknown_field: { deep: [1.5, "", false] },
  };
  await notify(payments, pendingNotification(await payments.charge(), more));
  const [{ raw_payload }] = await listNotifications(payments, staff);
  for (const [name, value] of Object.entries(more)) assert.deepEqual(raw_payload[name], value);
});

Deno.test("notification: is rejected with a problem, and not stored, if it is malformed or forged", async () => {
  await using payments = await openPayments();
  const { app } = payments;
  const staff = await app.createKey(STAFF);
  const valid = pendingNotification(await payments.charge());

  for (const name of ["order_id", "transaction_status", "signature_key"]) {
    const { [name]: _, ...rest } = valid;
    await assertProblem(await send(payments, JSON.stringify(rest)), 400, "validation_error");
  }
  for (const text of ["null", "7", '"x"', "[]", `[${JSON.stringify(valid)}]`]) {
    await assertProblem(await send(payments, text), 400, "validation_error");
  }
  for (const text of ["", "{", "order_id=order-1", JSON.stringify(valid) + "}"]) {
    await assertProblem(await send(payments, text), 400, "malformed_json");
  }
  await assertProblem(await send(payments, null, { headers: {} }), 400, "malformed_json");
  await assertProblem(await send(payments, FORGED), 403, "signature_invalid");
  for (const more of [{ order_id: "other" }, { status_code: "200" }, { gross_amount: "1.00" }]) {
    const forged = JSON.stringify({ ...valid, ...more });
    await assertProblem(await send(payments, forged), 403, "signature_invalid");
  }

  const largeBody = JSON.stringify({ ...valid, more: "x".repeat(256 * 1024) });
  await assertProblem(await send(payments, largeBody), 413, "payload_too_large");
  const form = { headers: { "Content-Type": "application/x-www-form-urlencoded" } };
  const sent = await send(payments, JSON.stringify(valid), form);
  await assertProblem(sent, 415, "unsupported_media_type");
  for (const method of ["GET", "PUT", "DELETE"]) {
    const response = await app.request("/notification/", { method });
    assert.equal(response.headers.get("allow"), "POST");
    await assertProblem(response, 405, "method_not_allowed");
  }

  assert.deepEqual(await listNotifications(payments, staff), []);
});

Deno.test("notification: an unsigned hint is accepted and not stored", async () => {
  await using payments = await openPayments();
  const staff = await payments.app.createKey(STAFF);
  const hint = { account_id: "a", account_status: "ENABLED", status_code: "200" };
  const response = await send(payments, JSON.stringify(hint));
  assert.equal(response.status, 200);
  const receipt = NotificationReceiptSchema.parse(await response.json());
  assert.deepEqual(receipt, { status: "ok", notification_id: null });
  assert.deepEqual(await listNotifications(payments, staff), []);
});

Deno.test("notification: too many rejected requests from an address get 429, signed ones never do", async () => {
  await using payments = await openPayments({ env: LOW_LIMIT, now: () => 1_800_000_000_000 });
  const valid = pendingNotification(await payments.charge());
  const statuses = async (bodies: string[], from?: Sender) => {
    const found = [];
    for (const body of bodies) found.push((await send(payments, body, from)).status);
    return found;
  };
  assert.deepEqual(await statuses([FORGED, "{}", "{", FORGED, "{}", "{"]), [
    ...[403, 400, 400],
    ...[429, 429, 429],
  ]);

  const response = await send(payments, FORGED);
  assert.equal(response.headers.get("retry-after"), "1");
  assert.equal(response.headers.get("ratelimit"), '"caller";r=0;t=1');
  assert.equal(response.headers.get("ratelimit-policy"), '"caller";q=3;w=2');
  await assertProblem(response, 429, "rate_limited");

  for (let i = 0; i < 10; i++) await notify(payments, valid);
  const otherAddress = { address: "203.0.113.2" };
  assert.deepEqual(await statuses([FORGED, FORGED], otherAddress), [403, 403]);
  const remoteAddr = { transport: "tcp", hostname: "203.0.113.1", port: 1 } as const;
  const apiRequest = new Request("http://localhost/me/", {
    headers: { Authorization: `Bearer ${payments.key}` },
  });
  assert.equal((await payments.app.fetch(apiRequest, { remoteAddr })).status, 200);
});

Deno.test("notification: signed requests do not use up the limit for rejected ones", async () => {
  await using payments = await openPayments({ env: LOW_LIMIT, now: () => 1_800_000_000_000 });
  const valid = pendingNotification(await payments.charge());
  for (let i = 0; i < 10; i++) await notify(payments, valid);
  await assertProblem(await send(payments, FORGED), 403, "signature_invalid");
});

Deno.test("notification: behind a trusted proxy each sender has a separate limit", async () => {
  const env = { ...LOW_LIMIT, TRUST_PROXY: "10.0.0.0/8" };
  await using payments = await openPayments({ env, now: () => 1_800_000_000_000 });
  for (const [sender, last] of [["198.51.100.1", 429], ["198.51.100.2", 429]] as const) {
    const from = { address: "10.0.0.1", headers: { ...JSON_TYPE, "X-Forwarded-For": sender } };
    const found = [];
    for (let i = 0; i < 4; i++) found.push((await send(payments, FORGED, from)).status);
    assert.deepEqual(found, [403, 403, 403, last]);
  }
});

Deno.test("notification and event routes: are forbidden for users", async () => {
  await using payments = await openPayments();
  const { app, key } = payments;
  const staff = await app.createKey(STAFF);
  const notification = await notify(payments, pendingNotification(await payments.charge()));
  const routes = [
    ["GET", "/notifications/"],
    ["GET", "/events/"],
    ["POST", `/notifications/${notification}/replay/`],
  ] as const;
  for (const [method, path] of routes) {
    const refused = await assertProblem(await app.as(key, path, { method }), 403, "forbidden");
    assert.ok(!JSON.stringify(refused).includes(notification));
    assert.equal((await app.as(staff, path, { method })).status, 200, path);
  }
  const unknownPath = `/notifications/${UNKNOWN_ID}/replay/`;
  await assertProblem(await app.as(key, unknownPath, { method: "POST" }), 403, "forbidden");
});

Deno.test("notification list: filters by order id and status, in pages, newest first", async () => {
  await using payments = await openPayments();
  const { sandbox } = payments;
  const staff = await payments.app.createKey(STAFF);
  const [a, b] = [await payments.charge(), await payments.charge()];
  const ids: string[] = [];
  for (const payment of [a, b, a, b, a]) {
    ids.unshift(await notify(payments, pendingNotification(payment)));
  }
  await sandbox.control(`transactions/${a.transaction_id}/pay`);
  const paid = pendingNotification(a, { transaction_status: "settlement", status_code: "200" });
  ids.unshift(await notify(payments, paid));
  const [a4, a3, b2, a2, b1, a1] = ids;

  assert.deepEqual(idsOf(await listNotifications(payments, staff)), ids);
  const list = async (query: string) => idsOf(await listNotifications(payments, staff, query));
  assert.deepEqual(await list(`?order_id=${b.order_id}`), [b2, b1]);
  assert.deepEqual(await list("?order_id=no-such"), []);
  assert.deepEqual(await list("?status=processed"), [a4]);
  assert.deepEqual(await list("?status=failed"), []);
  assert.deepEqual(await list(`?order_id=${a.order_id}&status=duplicate`), [a3, a2, a1]);
  assert.deepEqual(await list(`?order_id=${b.order_id}&status=processed`), []);

  assert.deepEqual(await listPages(payments, staff, "/notifications/?limit=4"), [
    [a4, a3, b2, a2],
    [b1, a1],
  ]);
  assert.deepEqual(
    await listPages(payments, staff, `/notifications/?limit=2&order_id=${a.order_id}`),
    [[a4, a3], [a2, a1]],
  );
  assert.deepEqual(await listPages(payments, staff, "/notifications/?limit=3&status=duplicate"), [
    [a3, b2, a2],
    [b1, a1],
  ]);
});

Deno.test("notification list: has all pages, although it leaves out the doctor's self-tests", async () => {
  await using payments = await openPayments();
  const staff = await payments.app.createKey(STAFF);
  const payment = await payments.charge();
  const ids: string[] = [];
  for (let count = 0; count < 5; count++) {
    ids.unshift(await notify(payments, pendingNotification(payment)));
    await notify(
      payments,
      signed({ ...OF_UNKNOWN_ORDER, order_id: `doctor:${crypto.randomUUID()}` }),
    );
    await notify(payments, signed({ ...OF_UNKNOWN_ORDER, order_id: `unknown-${count}` }));
  }
  const pagesOf = async (query: string) =>
    (await listPages(payments, staff, `/notifications/?limit=2${query}`)).flat();
  assert.deepEqual(await pagesOf(`&order_id=${payment.order_id}`), ids);
  assert.equal((await pagesOf("")).length, 10);
  assert.equal((await pagesOf("&status=unmatched")).length, 5);
});

Deno.test("notification list: filters by time of creation", async () => {
  let now = Date.parse("2026-03-05T04:00:00.000Z");
  await using payments = await openPayments({ now: () => now });
  const staff = await payments.app.createKey(STAFF);
  const payload = pendingNotification(await payments.charge());
  const ids: string[] = [];
  for (let i = 0; i < 4; i++) {
    ids.unshift(await notify(payments, payload));
    now += 60_000;
  }
  const [at3, at2, at1, at0] = ids;
  const list = async (query: Record<string, string>) =>
    idsOf(await listNotifications(payments, staff, `?${new URLSearchParams(query)}`));

  assert.deepEqual(await list({ created_from: "2026-03-05T04:02:00Z" }), [at3, at2]);
  assert.deepEqual(await list({ created_from: "2026-03-05T04:02:00.001Z" }), [at3]);
  assert.deepEqual(await list({ created_before: "2026-03-05T04:02:00Z" }), [at1, at0]);
  assert.deepEqual(await list({ created_before: "2026-03-05T11:02:00.001+07:00" }), [
    ...[at2, at1, at0],
  ]);
  const span = { created_from: "2026-03-05T04:01:00Z", created_before: "2026-03-05T04:03:00Z" };
  assert.deepEqual(await list(span), [at2, at1]);
  assert.deepEqual(await list({ ...span, status: "duplicate" }), [at2, at1]);
  assert.deepEqual(await list({ created_from: "0001-01-01T00:00:00Z" }), ids);
  assert.deepEqual(await list({ created_before: "1969-12-31T23:59:59Z" }), []);
  assert.deepEqual(await list({ created_before: "9999-12-31T23:59:59Z" }), ids);

  const firstPath = `/notifications/?limit=1&${new URLSearchParams(span)}`;
  assert.deepEqual(await listPages(payments, staff, firstPath), [[at2], [at1]]);
});

Deno.test("notification and event lists: name the invalid query parameter", async () => {
  await using payments = await openPayments();
  const staff = await payments.app.createKey(STAFF);
  const invalidQueries = {
    "/notifications/": [
      ["order_id", ""],
      ["order_id", "a%00b"],
      ["order_id", "x".repeat(256)],
      ["status", "settlement"],
      ["created_from", "yesterday"],
      ["created_from", "2026-03-05"],
      ["created_from", "2026-02-30T00:00:00Z"],
      ["created_before", "2026-03-05T00:00:00"],
      ["limit", "0"],
      ["limit", "101"],
      ["cursor", "rubbish"],
    ],
    "/events/": [
      ["name", "invoice_eaten"],
      ["resource_id", "order-1"],
      ["order", "random"],
      ["limit", "1e1"],
      ["cursor", ""],
    ],
  };
  for (const [path, queries] of Object.entries(invalidQueries)) {
    for (const [field, value] of queries) {
      const response = await payments.get(`${path}?${field}=${value}`, staff);
      const { errors } = await assertProblem(response, 400, "validation_error");
      assert.deepEqual(errors?.map((error) => error.field), [field]);
    }
    for (const [field] of queries) {
      const response = await payments.get(`${path}?${field}=1&${field}=2`, staff);
      await assertProblem(response, 400, "validation_error");
    }
  }
});

Deno.test("notification replay: applies the gateway's current state", async () => {
  await using payments = await openPayments();
  const { app, sandbox } = payments;
  const staff = await app.createKey(STAFF);
  const payment = await payments.charge();
  const notification = await notify(payments, pendingNotification(payment));
  await sandbox.control(`transactions/${payment.transaction_id}/pay`);

  const response = await payments.post(
    `/notifications/${notification}/replay/`,
    undefined,
    {},
    staff,
  );

  assert.equal(response.status, 200, await response.clone().text());
  const replayed = NotificationSchema.parse(await response.json());
  assert.deepEqual([replayed.id, replayed.payment_id], [notification, payment.id]);
  assert.equal((await payments.read(payment.id)).is_paid, true);
  assert.deepEqual(await listNotifications(payments, staff), [replayed]);

  for (const id of [notification.toUpperCase(), notification]) {
    const again = await payments.post(`/notifications/${id}/replay/`, {}, {}, staff);
    assert.equal(again.status, 200);
  }
  assert.deepEqual(await payments.events(payment.id), ["payment_received", "payment_settled"]);
});

Deno.test("notification replay: rejects unknown ids and invalid requests, and reports gateway errors", async () => {
  await using payments = await openPayments();
  const { app, sandbox } = payments;
  const staff = await app.createKey(STAFF);
  const notification = await notify(payments, pendingNotification(await payments.charge()));
  const replay = (id: string, init: RequestInit = {}) =>
    app.as(staff, `/notifications/${id}/replay/`, { method: "POST", ...init });

  for (const id of [UNKNOWN_ID, "1", `${notification}0`, "%00", "..%2f..%2fme"]) {
    await assertProblem(await replay(id), 404, "not_found");
  }
  const asText = { body: "x", headers: { "Content-Type": "text/plain" } };
  await assertProblem(await replay(notification, asText), 415, "unsupported_media_type");
  const largeBody = { body: "x".repeat(256 * 1024 + 1), headers: JSON_TYPE };
  await assertProblem(await replay(notification, largeBody), 413, "payload_too_large");
  const read = await app.as(staff, `/notifications/${notification}/replay/`);
  assert.equal(read.headers.get("allow"), "POST");
  await assertProblem(read, 405, "method_not_allowed");

  await sandbox.fault("status", "error_500", { count: 10 });
  await assertProblem(await replay(notification), 400, "gateway_error");
});

Deno.test("event list: filters by name and resource, in pages and in both orders", async () => {
  await using payments = await openPayments();
  const { sandbox } = payments;
  const staff = await payments.app.createKey(STAFF);
  const [a, b] = [await payments.charge(), await payments.charge()];
  await sandbox.control(`transactions/${a.transaction_id}/pay`);
  const paid = pendingNotification(a, { transaction_status: "settlement", status_code: "200" });
  const notification = await notify(payments, paid);
  await payments.post(`/payments/${b.id}/cancel/`);
  await untilShown(payments, staff, 4);

  const newest = await listEvents(payments, staff);
  assert.deepEqual(
    newest.map(({ name, data }) => [name, data.id, data.notification_id]),
    [
      ["payment_cancelled", b.id, null],
      ["payment_settled", a.id, notification],
      ["payment_received", b.id, null],
      ["payment_received", a.id, null],
    ],
  );
  assert.deepEqual(newest.map(({ data }) => data.is_paid), [false, true, false, false]);
  const [b2, a2, b1, a1] = idsOf(newest);

  const list = async (query: string) => idsOf(await listEvents(payments, staff, query));
  assert.deepEqual(await list("?order=newest_first"), [b2, a2, b1, a1]);
  assert.deepEqual(await list("?order=oldest_first"), [a1, b1, a2, b2]);
  assert.deepEqual(await list("?name=payment_received"), [b1, a1]);
  assert.deepEqual(await list("?name=payment_refunded"), []);
  assert.deepEqual(await list(`?resource_id=${a.id}`), [a2, a1]);
  assert.deepEqual(await list(`?resource_id=${a.id.toUpperCase()}`), [a2, a1]);
  assert.deepEqual(await list(`?resource_id=${UNKNOWN_ID}`), []);
  assert.deepEqual(await list(`?resource_id=${b.id}&name=payment_cancelled`), [b2]);
  assert.deepEqual(await list(`?resource_id=${b.id}&order=oldest_first`), [b1, b2]);

  assert.deepEqual(await listPages(payments, staff, "/events/?limit=3"), [[b2, a2, b1], [a1]]);
  assert.deepEqual(await listPages(payments, staff, "/events/?limit=3&order=oldest_first"), [
    [a1, b1, a2],
    [b2],
  ]);
  assert.deepEqual(
    await listPages(payments, staff, "/events/?limit=1&name=payment_received&order=oldest_first"),
    [[a1], [b1]],
  );
  assert.deepEqual(await listPages(payments, staff, `/events/?limit=1&resource_id=${b.id}`), [
    [b2],
    [b1],
  ]);
});

Deno.test("notification routes: work under BASE_PATH, including Link", async () => {
  await using payments = await openPayments({ env: { BASE_PATH: "/pay" } });
  const { app } = payments;
  const staff = await app.createKey(STAFF);
  const body = { payment_type: "gopay", gross_amount: 44_000 };
  const charged = [
    await (await payments.post("/pay/charge/", body)).json(),
    await (await payments.post("/pay/charge/", body)).json(),
  ];
  for (const payment of charged) {
    await notify(payments, pendingNotification(payment), { basePath: "/pay" });
  }
  const outsideBasePath = await send(payments, JSON.stringify(pendingNotification(charged[0])));
  await assertProblem(outsideBasePath, 404, "not_found");

  const [page, rest] = await listPages(payments, staff, "/pay/notifications/?limit=1");
  assert.deepEqual([page!.length, rest!.length], [1, 1]);
  const replay = await payments.post(`/pay/notifications/${page![0]}/replay`, {}, {}, staff);
  assert.equal(replay.status, 200);
  let next: string | undefined;
  await until("both events are shown", async () => {
    next = nextOf(await payments.get("/pay/events/?limit=1", staff));
    return next !== undefined;
  });
  assert.match(next!, /^\/pay\/events\/\?/);
  assert.equal((await payments.get(next!, staff)).status, 200);
});

Deno.test("metrics: count rejected notifications by reason", async () => {
  await using collector = openCollector();
  await using service = await startService({
    settings: {
      ...collector.settings,
      HOST: "127.0.0.1",
      DATABASE_URL: await createDatabase(),
      GATEWAY_SERVER_KEY: "SB-Mid-server-of-the-counter",
    },
    command: [
      ...[Deno.execPath(), "run", "-q", "--no-prompt", PATIENT],
      ...[
        "--allow-net",
        "--allow-env",
        "--allow-sys=homedir",
        "--allow-read=db/migrations",
        "--ignore-read",
        "main.ts",
      ],
    ],
  });
  try {
    for (const body of [FORGED, FORGED, "{}", "{"]) {
      const init = { method: "POST", body, headers: JSON_TYPE };
      await (await callService(`${service.url}/notification/`, init)).body?.cancel();
    }
    const counted = { signature_invalid: 2, validation_error: 1, malformed_json: 1 };
    await until("all four are counted", () => {
      const counts = rejectedByReason(collector.text());
      return Object.entries(counted).every(([reason, count]) => counts[reason] === count);
    });
  } finally {
    // Deno waits for the last export when it exits, sometimes forever (denoland/deno#33157).
    service.signal("SIGKILL");
    await service.ended;
  }
});

/** The numbers of rejected notifications in the latest export, by reason. */
function rejectedByReason(exported: string): Record<string, number> {
  const points = exported.split(/\n(?=\{)/)
    .flatMap((text) => JSON.parse(text).resourceMetrics ?? [])
    .flatMap(({ scopeMetrics }: Json) => scopeMetrics)
    .flatMap(({ metrics }: Json) => metrics)
    .filter(({ name }: Json) => name === "payment_gateway.notifications.refused")
    .flatMap(({ sum }: Json) => sum.dataPoints);
  return Object.fromEntries(
    points.map(({ attributes, asInt, asDouble }: Json) => [
      attributes[0].value.stringValue,
      Number(asInt ?? asDouble),
    ]),
  );
}
