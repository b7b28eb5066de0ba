/** Snap by requests: creating and cancelling pages, order ids, expiry, notifications. */

import assert from "node:assert/strict";
import { type Json, openSandbox, type TestSandbox } from "../support/gateway/sandbox.ts";
import { CARDS, openPage, pageOf, pay, SNAP_PATH, snapRequest } from "../support/gateway/snap.ts";

const DAY_S = 86_400;

/** Creates a page that must be refused with this status, and returns the messages. */
async function refusal(box: TestSandbox, request: Json, http = 400, headers = {}) {
  const reply = await box.call("POST", SNAP_PATH, request, headers);
  assert.equal(reply.http, http, reply.text);
  assert.deepEqual(Object.keys(reply.body), ["error_messages"]);
  return reply.body.error_messages as string[];
}

/** The time in the gateway's format, some seconds after the sandbox's clock. */
async function timeAfter(box: TestSandbox, seconds: number): Promise<string> {
  const { now } = await box.get("/_sandbox/clock");
  const at = new Date(Date.parse(now) + seconds * 1000).toISOString();
  return `${at.slice(0, 19).replace("T", " ")} +0000`;
}

/** Seconds from the creation of a page to its expiry, to the nearest second. */
async function lifetime(box: TestSandbox, token: string): Promise<number> {
  const { created_at, expires_at } = await pageOf(box, token);
  return Math.round((Date.parse(expires_at) - Date.parse(created_at)) / 1000);
}

Deno.test("snap create: returns 201 with a token of 36 characters and the URL of its page", async () => {
  await using box = await openSandbox();
  const { http, body } = await box.call("POST", SNAP_PATH, snapRequest("A-1"));
  assert.equal(http, 201);
  assert.deepEqual(Object.keys(body), ["token", "redirect_url"]);
  assert.equal(body.token.length, 36);
  assert.equal(body.redirect_url, `${box.url}/snap/v3/redirection/${body.token}`);
  const page = await pageOf(box, body.token);
  assert.deepEqual(
    [page.state, page.order_id, page.gross_amount, page.transaction_ids, page.return_url],
    ["open", "A-1", "44000.00", [], null],
  );
});

Deno.test("snap create: refuses invalid requests with 400 and error_messages", async () => {
  await using box = await openSandbox();
  const details = (transaction_details: Json) => snapRequest("A-1", { transaction_details });
  const item = { name: "A", price: 1000, quantity: 1 };
  const invalid: [Json, RegExp][] = [
    [{}, /^transaction_details is required$/],
    [details({ order_id: null }), /^transaction_details.order_id is required$/],
    [details({ order_id: "a b" }), /^transaction_details.order_id may contain only/],
    [details({ order_id: "x".repeat(51) }), /order_id must not be longer than 50/],
    [details({ gross_amount: 0 }), /^transaction_details.gross_amount must be equal or greater/],
    [details({ gross_amount: 10.5 }), /must not have decimals/],
    [snapRequest("A-1", { item_details: [item] }), /is not equal to the sum of item_details$/],
    [snapRequest("A-1", { expiry: { duration: 1, unit: "week" } }), /^expiry.unit must be one of/],
    [snapRequest("A-1", { expiry: { duration: 19, unit: "second" } }), /^expiry is below minimum/],
    [
      snapRequest("A-1", { page_expiry: { duration: 19, unit: "second" } }),
      /^page_expiry is below/,
    ],
    [
      snapRequest("A-1", { expiry: { start_time: "soon", duration: 1, unit: "day" } }),
      /^expiry.start_time format is invalid$/,
    ],
    [
      snapRequest("A-1", {
        expiry: { start_time: "2020-01-01 00:00:00 +0700", duration: 1, unit: "day" },
      }),
      /below minimum threshold/,
    ],
    [
      snapRequest("A-1", { enabled_payments: ["google_pay"], credit_card: { secure: false } }),
      /no/,
    ],
  ];
  for (const [request, message] of invalid) {
    const [first] = await refusal(box, request);
    assert.match(first!, message);
  }
  assert.deepEqual(await box.get("/_sandbox/snap?order_id=A-1"), []);
});

Deno.test("snap create: accepts every character that an order id may have", async () => {
  await using box = await openSandbox();
  await openPage(box, `aZ09-_~.${"x".repeat(42)}`);
});

Deno.test("snap create: refuses a wrong key with 401 and two messages", async () => {
  await using box = await openSandbox();
  for (const key of ["SB-Mid-server-wrong:", ":"]) {
    const headers = { Authorization: `Basic ${btoa(key)}` };
    const messages = await refusal(box, snapRequest("A-1"), 401, headers);
    assert.equal(messages.length, 2);
    assert.match(messages[0]!, /^Access denied due to unauthorized transaction/);
  }
});

Deno.test("snap create: refuses a request above 16 kB", async () => {
  await using box = await openSandbox();
  const ofSize = (bytes: number) => {
    const request = snapRequest("A-1", { metadata: { filler: "" } });
    request.metadata.filler = "x".repeat(bytes - JSON.stringify(request).length);
    return request;
  };
  await refusal(box, ofSize(16_001), 413);
  assert.equal((await box.call("POST", SNAP_PATH, ofSize(16_000))).http, 201);
});

Deno.test("snap create: an Idempotency-Key has no effect", async () => {
  await using box = await openSandbox();
  const headers = { "Idempotency-Key": "key-1", "X-Idempotency-Key": "key-1" };
  const first = await box.post(SNAP_PATH, snapRequest("A-1"), headers);
  const second = await box.post(SNAP_PATH, snapRequest("A-1"), headers);
  assert.notEqual(first.token, second.token);
});

Deno.test("snap expiry: page_expiry wins over expiry, units may be plural, 7 days are the limit", async () => {
  await using box = await openSandbox();
  const start_time = await timeAfter(box, 0);
  const cases: [Json, number][] = [
    [{}, DAY_S],
    [{ expiry: { start_time, duration: 30, unit: "minute" } }, 1800],
    [{ expiry: { start_time, duration: 30, unit: "minutes" } }, 1800],
    [{ expiry: { start_time, duration: 2, unit: "hours" } }, 7200],
    [{ expiry: { start_time, duration: 30, unit: "days" } }, 7 * DAY_S],
    // Without a start time, the expiry applies only to the payment.
    [{ expiry: { duration: 30, unit: "minute" } }, DAY_S],
    [{
      expiry: { start_time, duration: 30, unit: "minute" },
      page_expiry: { duration: 3, unit: "hour" },
    }, 10_800],
    [{ page_expiry: { duration: 8, unit: "day" } }, 7 * DAY_S],
  ];
  for (const [more, seconds] of cases) {
    const found = await lifetime(box, await openPage(box, "A-1", more));
    // The start time has no milliseconds and was read before the page was created.
    assert.ok(found <= seconds && found > seconds - 60, `${JSON.stringify(more)}: ${found}`);
  }
});

Deno.test("snap expiry: the shortest expiry is 20 seconds, or what the setting says", async () => {
  await using box = await openSandbox();
  const ofSeconds = (duration: number) => ({ page_expiry: { duration, unit: "seconds" } });
  await openPage(box, "A-1", ofSeconds(20));
  await box.control("settings", { snap_min_expiry_seconds: 300 }, "PATCH");
  await refusal(box, snapRequest("A-1", ofSeconds(299)));
  await openPage(box, "A-1", ofSeconds(300));
});

Deno.test("snap page: survives a restart, and then expires in time", async () => {
  const folder = await Deno.makeTempDir({ prefix: "sandbox-" });
  const path = `${folder}/state.sqlite`;
  const opened: { token?: string } = {};
  {
    await using box = await openSandbox({ path });
    opened.token = await openPage(box, "A-1", { page_expiry: { duration: 1, unit: "hour" } });
    await pay(box, opened.token, { card_number: CARDS.denied });
  }
  {
    await using box = await openSandbox({ path });
    const { state, failures } = await pageOf(box, opened.token!);
    assert.deepEqual([state, failures], ["open", 1]);
    await box.advance(3601);
    assert.equal((await pageOf(box, opened.token!)).state, "expired");
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("snap expiry: without a start time, the payment's time starts when its method is confirmed", async () => {
  await using box = await openSandbox();
  const enabled_payments = ["bca_va"];
  const expiry = { duration: 2, unit: "hours" };
  const token = await openPage(box, "A-1", { enabled_payments, expiry });
  await box.advance(10 * 3600);
  const { transaction } = await pay(box, token, { method: "bca_va" });
  const seconds = Date.parse(transaction.expiry_time) - Date.parse(transaction.transaction_time);
  assert.equal(seconds, 2 * 3600 * 1000);
  const start_time = await timeAfter(box, 0);
  const fixed = await openPage(box, "A-2", {
    enabled_payments,
    expiry: { start_time, duration: 2, unit: "hours" },
  });
  await box.advance(3600);
  const later = (await pay(box, fixed, { method: "bca_va" })).transaction;
  const left = Date.parse(later.expiry_time) - Date.parse(later.transaction_time);
  assert.ok(left <= 3600_000, String(left));
});

Deno.test("snap page: expires without a notification, and status stays 404", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1", { page_expiry: { duration: 1, unit: "hour" } });
  assert.equal((await box.status("A-1")).status_code, "404");
  await box.advance(3601);
  await box.waitForWebhooks();
  assert.equal((await pageOf(box, token)).state, "expired");
  assert.equal((await box.status("A-1")).status_code, "404");
  assert.equal(box.hooks.length, 0);
  const { http, body } = await box.call("POST", `/_sandbox/snap/${token}/pay`, {
    card_number: CARDS.accepted,
  });
  assert.deepEqual([http, body.status_message], [409, "This page has expired"]);
});

Deno.test("snap page: a passed card is captured, with notifications to the URL of the request", async () => {
  await using box = await openSandbox();
  const headers = { "X-Override-Notification": `${box.receiver.url}/override` };
  const request = snapRequest("A-1", { custom_field1: "x", metadata: { a: 1 } });
  const { token } = await box.post(SNAP_PATH, request, headers);
  const paid = await pay(box, token);
  assert.equal(paid.state, "paid");
  assert.equal(paid.transaction.transaction_status, "capture");
  await box.waitForWebhooks();
  assert.deepEqual(
    box.hooks.map(({ path, body }) => [path, body.transaction_status, body.payment_type]),
    [["/override", "pending", "credit_card"], ["/override", "capture", "credit_card"]],
  );
  assert.equal(box.hooks[1]!.body.custom_field1, "x");
  assert.equal((await box.status("A-1")).transaction_status, "capture");
  const appended = await box.post(SNAP_PATH, snapRequest("A-2"), {
    "X-Append-Notification": `${box.receiver.url}/append`,
  });
  await pay(box, appended.token, { three_ds: "abandon" });
  await box.waitForWebhooks();
  assert.deepEqual(
    box.hooks.slice(2).map(({ path }) => path).sort(),
    ["/append", "/payment"],
  );
});

Deno.test("snap page: a card without `secure` needs no 3-D Secure", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1", { credit_card: { secure: false } });
  const { state, transaction } = await pay(box, token, { three_ds: "abandon" });
  assert.deepEqual([state, transaction.transaction_status], ["paid", "capture"]);
});

Deno.test("snap page: several cards of one order id are transactions with their own notifications", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1");
  const first = await pay(box, token, { card_number: CARDS.denied });
  assert.deepEqual([first.state, first.failures], ["open", 1]);
  await pay(box, token, { three_ds: "failure" });
  const last = await pay(box, token);
  assert.deepEqual([last.state, last.failures, last.transaction_ids.length], ["paid", 2, 3]);
  assert.equal((await box.status("A-1")).transaction_id, last.transaction.transaction_id);
  const statuses = await Promise.all(last.transaction_ids.map((id: string) => box.status(id)));
  assert.deepEqual(
    statuses.map(({ transaction_status }) => transaction_status),
    ["deny", "deny", "capture"],
  );
  await box.waitForWebhooks();
  for (const [index, id] of last.transaction_ids.entries()) {
    const events = box.hooks.filter(({ body }) => body.transaction_id === id)
      .map(({ body }) => body.transaction_status);
    assert.deepEqual(events, ["pending", index < 2 ? "deny" : "capture"]);
  }
});

Deno.test("snap page: an abandoned 3-D Secure expires after 15 minutes with a notification", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1");
  const { state, transaction } = await pay(box, token, { three_ds: "abandon" });
  assert.deepEqual([state, transaction.transaction_status], ["in_progress", "pending"]);
  await box.advance(14 * 60);
  assert.equal((await box.status("A-1")).transaction_status, "pending");
  await box.advance(61);
  await box.waitForWebhooks();
  assert.equal((await box.status("A-1")).transaction_status, "expire");
  assert.equal(box.hooks.at(-1)!.body.transaction_status, "expire");
  assert.equal((await pageOf(box, token)).state, "open");
});

Deno.test("snap page: a slow issuer leaves the payment pending, then decides", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1", { callbacks: { finish: "https://shop.example/done" } });
  const { state, return_url } = await pay(box, token, { card_number: "4024007176265022" });
  assert.equal(state, "in_progress");
  assert.equal(
    return_url,
    "https://shop.example/done?order_id=A-1&status_code=201&transaction_status=pending",
  );
  await box.advance(61);
  assert.equal((await pageOf(box, token)).state, "paid");
});

Deno.test("snap order id: a second page replaces the first until a method is confirmed", async () => {
  await using box = await openSandbox();
  const old = await openPage(box, "A-1");
  const token = await openPage(box, "A-1");
  assert.notEqual(old, token);
  assert.deepEqual(
    (await box.get("/_sandbox/snap?order_id=A-1")).map((page: Json) => [page.token, page.state]),
    [[token, "open"], [old, "replaced"]],
  );
  const refused = await box.call("POST", `/_sandbox/snap/${old}/pay`, { card_number: "1" });
  assert.equal(refused.http, 409);
  await pay(box, token, { three_ds: "abandon" });
  await refusal(box, snapRequest("A-1"));
  assert.equal((await pageOf(box, token)).state, "in_progress");
  await box.control("transactions/A-1/pay");
  await refusal(box, snapRequest("A-1"));
});

Deno.test("snap order id: after denied cards only, a setting decides whether a new page is created", async () => {
  await using box = await openSandbox();
  const old = await openPage(box, "A-1");
  await pay(box, old, { card_number: CARDS.denied });
  await refusal(box, snapRequest("A-1"));
  assert.equal((await pageOf(box, old)).state, "open");
  await box.control("settings", { snap_reuse_order_id_after_deny: true }, "PATCH");
  const token = await openPage(box, "A-1");
  assert.equal((await pageOf(box, old)).state, "replaced");
  assert.equal((await pay(box, token)).state, "paid");
});

Deno.test("snap order id: is shared with the core API", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1");
  await box.charge("bca", { transaction_details: { order_id: "A-1" } });
  const { http, body } = await box.call("POST", `/_sandbox/snap/${token}/pay`, {
    card_number: CARDS.accepted,
  });
  assert.equal(http, 409);
  assert.match(body.status_message, /Another payment uses the order ID/);
  await refusal(box, snapRequest("A-1"));
  await pay(box, await openPage(box, "A-2"), { three_ds: "abandon" });
  const charged = await box.charge("bca", { transaction_details: { order_id: "A-2" } });
  assert.equal(charged.status_code, "406");
});

async function cancel(box: TestSandbox, token: string) {
  const { http, body } = await box.call("POST", `${SNAP_PATH}/${token}/cancel`);
  return { http, body, message: body.error_messages?.[0] };
}

Deno.test("snap cancel: ends an unpaid page, once", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1");
  const { http, body } = await cancel(box, token);
  assert.equal(http, 200);
  assert.match(body.canceled_at, /^\d{4}-\d\d-\d\dT.*Z$/);
  assert.deepEqual(Object.keys(body), ["canceled_at"]);
  assert.equal((await pageOf(box, token)).state, "cancelled");
  const again = await cancel(box, token);
  assert.deepEqual([again.http, again.message], [400, "token already canceled"]);
  const refused = await box.call("POST", `/_sandbox/snap/${token}/pay`, { card_number: "1" });
  assert.deepEqual([refused.http, refused.body.status_message], [
    409,
    "The merchant cancelled this page",
  ]);
  // The order id is still free.
  await openPage(box, "A-1");
});

Deno.test("snap cancel: is refused during 3-D Secure and after a payment", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1");
  await pay(box, token, { three_ds: "abandon" });
  const waiting = await cancel(box, token);
  assert.deepEqual([waiting.http, waiting.message], [400, "Transaction is on progress"]);
  await box.control("transactions/A-1/pay");
  const paid = await cancel(box, token);
  assert.deepEqual([paid.http, paid.message], [400, "Transaction is on progress"]);
  assert.equal((await pageOf(box, token)).state, "paid");
});

Deno.test("snap cancel: is possible after a denied card", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1");
  await pay(box, token, { card_number: CARDS.denied });
  assert.equal((await cancel(box, token)).http, 200);
});

Deno.test("snap cancel: does not find unknown and replaced tokens", async () => {
  await using box = await openSandbox();
  const old = await openPage(box, "A-1");
  await openPage(box, "A-1");
  for (const token of [old, "unknown"]) {
    const { http, message } = await cancel(box, token);
    assert.deepEqual([http, message], [404, "token not found"]);
  }
});

Deno.test("snap cancel: with the setting `missing`, the call does not exist", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1");
  await box.control("settings", { snap_cancel: "missing" }, "PATCH");
  assert.equal((await cancel(box, token)).http, 404);
  assert.equal((await pageOf(box, token)).state, "open");
  await box.control("settings", { snap_cancel: "works" }, "PATCH");
  assert.equal((await cancel(box, token)).http, 200);
});

Deno.test("snap faults: a lost response of cancel cancels, a reset does not", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1");
  await box.fault("snap_cancel", "reset");
  await assert.rejects(cancel(box, token));
  assert.equal((await pageOf(box, token)).state, "open");
  await box.fault("snap_cancel", "error_500");
  assert.equal((await cancel(box, token)).http, 500);
  await box.fault("snap_cancel", "answer_lost");
  await assert.rejects(cancel(box, token));
  assert.equal((await pageOf(box, token)).state, "cancelled");
  await box.fault("snap_create", "answer_lost");
  await assert.rejects(box.post(SNAP_PATH, snapRequest("A-2")));
  assert.equal((await box.get("/_sandbox/snap?order_id=A-2")).length, 1);
});

Deno.test("snap page: after the merchant cancelled its transaction, is cancelled", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1");
  await pay(box, token, { three_ds: "abandon" });
  await box.post("/v2/A-1/cancel");
  assert.equal((await pageOf(box, token)).state, "cancelled");
});

const PREFERENCES = "/snap/v3/merchant-preferences";

Deno.test("merchant preferences: PATCH changes the given fields, and a restart keeps them", async () => {
  const folder = await Deno.makeTempDir({ prefix: "sandbox-" });
  const path = `${folder}/state.sqlite`;
  const changes = {
    finish_payment_return_url: "https://shop.example/done",
    error_payment_return_url: "https://shop.example/failed",
    locale: "en",
    allow_retry: false,
    hide_order_id: true,
    other_va_processor: "permata_va",
  };
  {
    await using box = await openSandbox({ path });
    const before = await box.get(PREFERENCES);
    assert.deepEqual([before.locale, before.allow_retry], ["id", true]);
    const { http, body } = await box.call("PATCH", PREFERENCES, {
      ...changes,
      payment_channels: [{ name: "gopay", enabled: false }],
    });
    assert.equal(http, 200);
    assert.deepEqual({ ...body, ...changes }, body);
  }
  {
    await using box = await openSandbox({ path });
    const { payment_channels, ...kept } = await box.get(PREFERENCES);
    assert.deepEqual(kept, changes);
    const isEnabled = (name: string) =>
      payment_channels.find((each: Json) => each.name === name).enabled;
    assert.deepEqual([isEnabled("gopay"), isEnabled("credit_card")], [false, true]);
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("merchant preferences: refuse a payment type that does not exist", async () => {
  await using box = await openSandbox();
  const payment_channels = [{ name: "shells", enabled: true }];
  const { http, body } = await box.call("PATCH", PREFERENCES, { payment_channels });
  assert.equal(http, 400);
  assert.deepEqual(body.error_messages, ["Payment type shells is invalid for this merchant"]);
});

Deno.test("allow_retry: off, a denied card ends the page and leads to the error URL", async () => {
  await using box = await openSandbox();
  await box.call("PATCH", PREFERENCES, {
    allow_retry: false,
    error_payment_return_url: "https://shop.example/failed?a=1",
  });
  const token = await openPage(box, "A-1");
  const { state, return_url } = await pay(box, token, { card_number: CARDS.denied });
  assert.equal(state, "failed");
  assert.equal(
    return_url,
    "https://shop.example/failed?a=1&order_id=A-1&status_code=202&transaction_status=deny",
  );
  const again = await box.call("POST", `/_sandbox/snap/${token}/pay`, {
    card_number: CARDS.accepted,
  });
  assert.equal(again.http, 409);
});

Deno.test("allow_retry: on, the fourth denied card leads to the error URL", async () => {
  await using box = await openSandbox();
  const callbacks = { error: "https://shop.example/failed" };
  const token = await openPage(box, "A-1", { callbacks });
  for (const failures of [1, 2, 3]) {
    const { state, return_url, ...page } = await pay(box, token, { card_number: CARDS.denied });
    assert.deepEqual([state, return_url, page.failures], ["open", null, failures]);
  }
  const last = await pay(box, token, { card_number: CARDS.denied });
  assert.equal(last.state, "failed");
  assert.match(last.return_url, /^https:\/\/shop\.example\/failed\?.*transaction_status=deny$/);
});

Deno.test("return URL: the page's own wins over the account's", async () => {
  await using box = await openSandbox();
  await box.call("PATCH", PREFERENCES, { finish_payment_return_url: "https://shop.example/all" });
  const paid = await pay(box, await openPage(box, "A-1"));
  const query = "status_code=200&transaction_status=capture";
  assert.equal(paid.return_url, `https://shop.example/all?order_id=A-1&${query}`);
  const callbacks = { finish: "https://shop.example/own" };
  const own = await pay(box, await openPage(box, "A-2", { callbacks }));
  assert.equal(own.return_url, `https://shop.example/own?order_id=A-2&${query}`);
});

Deno.test("return URL: with the setting, the page's finish URL does not apply to cards", async () => {
  await using box = await openSandbox();
  await box.control("settings", { snap_finish_url_for_cards: false }, "PATCH");
  const callbacks = { finish: "https://shop.example/own", error: "https://shop.example/error" };
  const none = await pay(box, await openPage(box, "A-1", { callbacks }));
  assert.deepEqual([none.state, none.return_url], ["paid", null]);
  await box.call("PATCH", PREFERENCES, { finish_payment_return_url: "https://shop.example/all" });
  const paid = await pay(box, await openPage(box, "A-2", { callbacks }));
  assert.match(paid.return_url, /^https:\/\/shop\.example\/all\?/);
});

Deno.test("google pay: pays by card with 3-D Secure, only if the page is secure and needs no installments", async () => {
  await using box = await openSandbox();
  const enabled_payments = ["credit_card", "google_pay"];
  const token = await openPage(box, "A-1", { enabled_payments });
  const { state, transaction } = await pay(box, token, { method: "google_pay" });
  assert.deepEqual([state, transaction.payment_type, transaction.transaction_status], [
    "paid",
    "credit_card",
    "capture",
  ]);
  assert.equal(transaction.three_ds_version, "2");
  const hidden = [{ secure: false }, { installment: { required: true } }];
  for (const [index, credit_card] of hidden.entries()) {
    const page = await openPage(box, `B-${index}`, { enabled_payments, credit_card });
    const refused = await box.call("POST", `/_sandbox/snap/${page}/pay`, { method: "google_pay" });
    assert.equal(refused.http, 400);
  }
});

Deno.test("saved cards: are kept for the user who ticked the box, after a successful payment", async () => {
  await using box = await openSandbox();
  const credit_card = { save_card: true };
  const user = (user_id: string) => ({ user_id, credit_card });
  await pay(box, await openPage(box, "A-1", user("u-1")), {
    save_card: true,
    three_ds: "failure",
  });
  const first = await pay(box, await openPage(box, "A-2", user("u-1")), { save_card: true });
  const { saved_token_id } = first.transaction;
  assert.match(saved_token_id, /^48111111.+1114$/);
  const unticked = await pay(box, await openPage(box, "A-3", user("u-1")));
  assert.equal(unticked.transaction.saved_token_id, undefined);
  const again = await pay(box, await openPage(box, "A-4", user("u-1")), {
    card_number: "",
    saved_token_id,
  });
  assert.deepEqual([again.state, again.transaction.masked_card], ["paid", "48111111-1114"]);
  const other = await openPage(box, "A-5", user("u-2"));
  const refused = await box.call("POST", `/_sandbox/snap/${other}/pay`, { saved_token_id });
  assert.equal(refused.http, 400);
});

Deno.test("card limits: whitelist and blacklist refuse a card without a transaction", async () => {
  await using box = await openSandbox();
  for (
    const [index, bins] of [{ whitelist_bins: ["5211"] }, { blacklist_bins: ["4811"] }].entries()
  ) {
    const token = await openPage(box, `A-${index}`, { credit_card: bins });
    const { http } = await box.call("POST", `/_sandbox/snap/${token}/pay`, {
      card_number: CARDS.accepted,
    });
    assert.equal(http, 400);
    assert.equal((await box.status(`A-${index}`)).status_code, "404");
    assert.equal((await pay(box, token, { card_number: "5211111111111117" })).state, "paid");
  }
});

Deno.test("pre-authorization: a page with type `authorize` only reserves the amount", async () => {
  await using box = await openSandbox();
  const token = await openPage(box, "A-1", { credit_card: { type: "authorize" } });
  const { state, transaction } = await pay(box, token);
  assert.deepEqual([state, transaction.transaction_status], ["paid", "authorize"]);
});

for (
  const method of [
    ...["bca_va", "bni_va", "bri_va", "cimb_va", "permata_va", "echannel", "gopay", "shopeepay"],
    ...["dana", "other_qris", "indomaret", "alfamart"],
  ]
) {
  Deno.test(`other methods: ${method} can be started and paid`, async () => {
    await using box = await openSandbox();
    const token = await openPage(box, "A-1", { enabled_payments: [method] });
    const { state, transaction } = await pay(box, token, { method });
    assert.deepEqual([state, transaction.transaction_status.toLowerCase()], [
      "in_progress",
      "pending",
    ]);
    await box.control(`transactions/${transaction.transaction_id}/pay`);
    assert.equal((await pageOf(box, token)).state, "paid");
  });
}

Deno.test("snap control: an unknown token is not found, and a number must be valid", async () => {
  await using box = await openSandbox();
  assert.equal((await box.call("GET", "/_sandbox/snap/unknown")).http, 404);
  assert.equal((await box.call("POST", "/_sandbox/snap/unknown/pay", {})).http, 404);
  const token = await openPage(box, "A-1");
  const card_number = "4811111111111115";
  const { http, body } = await box.call("POST", `/_sandbox/snap/${token}/pay`, { card_number });
  assert.equal(http, 400);
  assert.match(body.validation_messages[0], /luhn/);
});
