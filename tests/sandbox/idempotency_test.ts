import assert from "node:assert/strict";
import {
  type Kind,
  linkedAccount,
  openSandbox,
  type TestSandbox,
} from "../support/gateway/sandbox.ts";
import { INVOICE, SUBSCRIPTION } from "../support/gateway/sandbox_requests.ts";

const KEY = { "Idempotency-Key": "the-key" };

Deno.test("idempotency key: returns the first response for any body and operation", async () => {
  await using box = await openSandbox();
  const first = await box.call("POST", "/v2/charge", gopay("one"), KEY);
  const again = await box.call("POST", "/v2/charge", gopay("one"), KEY);
  assert.deepEqual([again.http, again.text], [first.http, first.text]);
  const other = await box.call("POST", "/v2/charge", gopay("two"), KEY);
  assert.equal(other.text, first.text);
  assert.equal((await box.status("two")).status_code, "404");
  const cancel = await box.call("POST", "/v2/one/cancel", undefined, KEY);
  assert.equal(cancel.text, first.text);
  assert.equal((await box.status("one")).transaction_status, "pending");
  await box.waitForWebhooks();
  assert.equal(box.hooks.length, 1);
});

function gopay(order_id: string) {
  return { payment_type: "gopay", transaction_details: { order_id, gross_amount: 1_000 } };
}

Deno.test("idempotency key: is ignored without an error if it is longer than 46 characters", async () => {
  await using box = await openSandbox();
  const codes = async (length: number) => {
    const headers = { "Idempotency-Key": "k".repeat(length) };
    const charge = () => box.post("/v2/charge", gopay(`order-${length}`), headers);
    return [(await charge()).status_code, (await charge()).status_code];
  };
  assert.deepEqual(await codes(46), ["201", "201"]);
  assert.deepEqual(await codes(47), ["201", "406"]);
});

Deno.test("idempotency key: error responses are not stored", async () => {
  await using box = await openSandbox();
  assert.equal((await box.post("/v2/charge", { payment_type: "gopay" }, KEY)).status_code, "400");
  const unknown = await box.post("/v2/unknown/cancel", undefined, KEY);
  assert.equal(unknown.status_code, "404");
  assert.equal((await box.post("/v2/charge", gopay("one"), KEY)).status_code, "201");
});

Deno.test("idempotency key: a denial is stored like a success", async () => {
  await using box = await openSandbox();
  const account = await linkedAccount(box, "8242014881");
  const denied = await box.charge("gopay", { gopay: account }, KEY);
  assert.equal(denied.status_code, "202");
  assert.deepEqual(await box.post("/v2/charge", gopay("other"), KEY), denied);
});

Deno.test("idempotency key: expires after five minutes of the sandbox clock", async () => {
  await using box = await openSandbox();
  const charge = async () => (await box.post("/v2/charge", gopay("one"), KEY)).status_code;
  assert.equal(await charge(), "201");
  await box.advance(290);
  assert.equal(await charge(), "201");
  await box.advance(15);
  assert.equal(await charge(), "406");
});

Deno.test("idempotency key: a second request during the first gets HTTP 202", async () => {
  await using box = await openSandbox();
  await box.fault("charge", "delay", { delay_ms: 600_000 });
  const stop = new AbortController();
  const first = fetch(`${box.url}/v2/charge`, {
    method: "POST",
    headers: { ...KEY, Authorization: `Basic ${btoa("SB-Mid-server-sandbox:")}` },
    body: JSON.stringify(gopay("one")),
    signal: stop.signal,
  }).catch(() => {});
  while ((await box.status("one")).status_code === "404");
  const { http, body } = await box.call("POST", "/v2/charge", gopay("one"), KEY);
  assert.deepEqual([http, body.status_code], [202, "202"]);
  stop.abort();
  await first;
});

Deno.test("idempotency key: is ignored by the call that links an account", async () => {
  await using box = await openSandbox();
  const body = {
    payment_type: "gopay",
    gopay_partner: { phone_number: "8123456789", country_code: "62" },
  };
  const first = await box.post("/v2/pay/account", body, KEY);
  const second = await box.post("/v2/pay/account", body, KEY);
  assert.notEqual(first.account_id, second.account_id);
  assert.equal((await box.post("/v2/charge", gopay("one"), KEY)).status_code, "201");
});

for (const kind of ["permata", "permata_old", "indomaret"] as Kind[]) {
  Deno.test(`idempotency key: is not supported by ${kind}`, async () => {
    await using box = await openSandbox();
    const same = { transaction_details: { order_id: "same" } };
    assert.equal((await box.charge(kind, same, KEY)).status_code, "201");
    assert.equal((await box.charge(kind, same, KEY)).status_code, "406");
  });
}

Deno.test("subscription idempotency key: lasts three minutes; the body is validated first", async () => {
  await using box = await openSandbox();
  const create = (body: object) => box.call("POST", "/v1/subscriptions", body, KEY);
  const first = await create(SUBSCRIPTION);
  assert.equal(first.http, 200);
  assert.equal((await create({ ...SUBSCRIPTION, name: "other" })).text, first.text);
  assert.equal((await create({ ...SUBSCRIPTION, amount: undefined })).http, 400);
  await box.advance(170);
  assert.equal((await create(SUBSCRIPTION)).text, first.text);
  await box.advance(15);
  assert.notEqual((await create(SUBSCRIPTION)).body.id, first.body.id);
});

Deno.test("invoice idempotency key: is read from the header X-Idempotency-Key", async () => {
  await using box = await openSandbox();
  const create = (headers: HeadersInit) => box.call("POST", "/v1/invoices", INVOICE, headers);
  const own = { "X-Idempotency-Key": "the-key" };
  const first = await create(own);
  assert.equal(first.http, 201);
  const again = await create(own);
  assert.deepEqual([again.http, again.text], [201, first.text]);
  assert.equal((await create(KEY)).http, 409);
  await box.advance(301);
  assert.equal((await create(own)).http, 409);
});

Deno.test("idempotency key: the same value in Idempotency-Key and X-Idempotency-Key counts as two keys", async () => {
  await using box = await openSandbox();
  await box.post("/v2/charge", gopay("one"), KEY);
  const own = { "X-Idempotency-Key": "the-key" };
  const { http, body } = await box.call("POST", "/v1/invoices", INVOICE, own);
  assert.deepEqual([http, body.order_id], [201, INVOICE.order_id]);
});

Deno.test("idempotency key: twenty concurrent requests create one transaction", async () => {
  await using box = await openSandbox();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => box.call("POST", "/v2/charge", gopay(`o-${i}`), KEY)),
  );
  const ids = new Set(answers.map(({ body }) => body.transaction_id).filter(Boolean));
  assert.equal(ids.size, 1);
  assert.equal((await transactions(box)).length, 1);
});

async function transactions(box: TestSandbox): Promise<unknown[]> {
  return await box.get("/_sandbox/transactions");
}
