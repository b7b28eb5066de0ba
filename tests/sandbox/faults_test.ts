import assert from "node:assert/strict";
import { type Json, openSandbox, type TestSandbox } from "../support/gateway/sandbox.ts";
import { INVOICE, SUBSCRIPTION } from "../support/gateway/sandbox_requests.ts";

function charge(box: TestSandbox, order_id = "one") {
  return box.call("POST", "/v2/charge", {
    payment_type: "gopay",
    transaction_details: { order_id, gross_amount: 1_000 },
  });
}

const hasTransaction = async (box: TestSandbox) => (await box.status("one")).status_code === "201";

/** Faults whose response replaces the operation, so that the operation is not executed. */
const REPLACING_FAULTS: Record<string, (box: TestSandbox) => Promise<void>> = {
  async error_500(box) {
    const { http, body } = await charge(box);
    assert.deepEqual([http, body.status_code], [500, "500"]);
    assert.match(body.status_message, /^Sorry\. Our system is recovering/);
  },
  async error_503(box) {
    const { http, body } = await charge(box);
    assert.deepEqual([http, body.status_code], [503, "503"]);
  },
  async hidden_500(box) {
    const { http, body } = await charge(box);
    assert.deepEqual([http, body.status_code], [200, "500"]);
  },
  async rate_limit(box) {
    const { http, body, headers } = await charge(box);
    assert.deepEqual([http, body.status_code], [429, "429"]);
    assert.equal(headers.get("retry-after"), "7");
  },
  async html(box) {
    const { http, text, headers } = await charge(box);
    assert.equal(http, 502);
    assert.match(headers.get("content-type")!, /^text\/html/);
    assert.match(text, /^<html>/);
  },
  async reset(box) {
    await assert.rejects(charge(box));
  },
};

for (const [fault, check] of Object.entries(REPLACING_FAULTS)) {
  Deno.test(`fault ${fault}: one call is not executed, and the next call succeeds`, async () => {
    await using box = await openSandbox();
    await box.fault("charge", fault, { retry_after: 7 });
    await check(box);
    assert.equal(await hasTransaction(box), false);
    assert.equal((await charge(box)).body.status_code, "201");
    assert.deepEqual(await box.get("/_sandbox/faults"), []);
  });
}

Deno.test("fault no_answer: the operation is not executed and no response arrives", async () => {
  await using box = await openSandbox();
  await box.fault("status", "no_answer");
  const stop = new AbortController();
  const request = fetch(`${box.url}/v2/one/status`, { signal: stop.signal });
  while ((await box.get("/_sandbox/faults")).length > 0);
  stop.abort();
  await assert.rejects(request, { name: "AbortError" });
  assert.equal((await box.status("one")).status_code, "404");
});

Deno.test("fault no_answer: does not delay the shutdown of the sandbox", async () => {
  await using box = await openSandbox();
  await box.fault("charge", "no_answer");
  const request = charge(box).then(() => "answered", () => "disconnected");
  while ((await box.get("/_sandbox/faults")).length > 0);
  await box[Symbol.asyncDispose]();
  assert.equal(await request, "disconnected");
  box[Symbol.asyncDispose] = () => Promise.resolve();
});

Deno.test("fault delay: the transaction exists before the response; errors are delayed too", async () => {
  await using box = await openSandbox();
  await box.fault("charge", "delay", { delay_ms: 600_000, count: 2 });
  const stop = new AbortController();
  const sendCharge = () =>
    fetch(`${box.url}/v2/charge`, {
      method: "POST",
      headers: { Authorization: `Basic ${btoa("SB-Mid-server-sandbox:")}` },
      body: JSON.stringify({
        payment_type: "gopay",
        transaction_details: { order_id: "one", gross_amount: 1_000 },
      }),
      signal: stop.signal,
    }).then(async (response) => void await response.body?.cancel(), () => "no answer");
  const first = sendCharge();
  while (!await hasTransaction(box));
  const refused = sendCharge();
  while ((await box.get("/_sandbox/faults")).length > 0);
  await box.waitForWebhooks();
  stop.abort();
  assert.deepEqual(await Promise.all([first, refused]), ["no answer", "no answer"]);
});

Deno.test("fault broken_json: the operation is executed and the response is truncated", async () => {
  await using box = await openSandbox();
  await box.fault("charge", "broken_json");
  const { http, text, body, headers } = await charge(box);
  assert.equal(http, 200);
  assert.equal(headers.get("content-type"), "application/json");
  assert.ok(text.startsWith('{"status_code":"201"'));
  assert.equal(body, undefined);
  assert.ok(await hasTransaction(box));
});

Deno.test("fault answer_lost: the operation is executed and the connection is cut", async () => {
  await using box = await openSandbox();
  await box.fault("charge", "answer_lost");
  await assert.rejects(charge(box));
  assert.ok(await hasTransaction(box));
});

Deno.test("fault webhook_first: the webhook arrives before the response", async () => {
  await using box = await openSandbox();
  await box.fault("charge", "webhook_first");
  await charge(box);
  assert.equal(box.hooks.length, 1);
});

Deno.test("faults: each family of endpoints fails in its own format", async () => {
  await using box = await openSandbox();
  await box.fault("*", "error_500", { count: 4 });
  const core = await box.call("GET", "/v2/x/status");
  assert.deepEqual(Object.keys(core.body).sort(), ["id", "status_code", "status_message"]);
  const subscription = await box.call("POST", "/v1/subscriptions", SUBSCRIPTION);
  assert.deepEqual([subscription.http, Object.keys(subscription.body)], [500, ["status_message"]]);
  const invoice = await box.call("POST", "/v1/invoices", INVOICE);
  assert.deepEqual([invoice.http, Object.keys(invoice.body)], [500, ["error_messages"]]);
  const bin = await box.call("GET", "/v1/bins/481111");
  assert.deepEqual([bin.http, Object.keys(bin.body)], [500, ["errors"]]);
  assert.equal((await box.call("POST", "/v1/invoices", INVOICE)).http, 201);
});

Deno.test("faults: affect only their operation, as often as requested, in the order of creation", async () => {
  await using box = await openSandbox();
  await box.fault("cancel", "error_500", { count: 2 });
  await box.fault("cancel", "error_503");
  assert.equal((await charge(box)).http, 200);
  const codes = [];
  for (let i = 0; i < 4; i++) codes.push((await box.call("POST", "/v2/one/cancel")).http);
  assert.deepEqual(codes, [500, 500, 503, 200]);
});

Deno.test("faults: are listed with their remaining count and can be cleared", async () => {
  await using box = await openSandbox();
  await box.fault("charge", "error_500", { count: 3 });
  await charge(box);
  const [left] = await box.get("/_sandbox/faults");
  assert.deepEqual([left.operation, left.fault, left.count], ["charge", "error_500", 2]);
  assert.deepEqual(await box.control("faults", undefined, "DELETE"), []);
  assert.equal((await charge(box)).http, 200);
});

Deno.test("fault rate: is repeatable with the same seed", async () => {
  const run = async () => {
    await using box = await openSandbox();
    await box.fault("status", "error_500", { count: 1_000, rate: 0.3 });
    const codes = [];
    for (let i = 0; i < 60; i++) codes.push((await box.call("GET", "/v2/x/status")).http);
    return codes;
  };
  const codes = await run();
  const failed = codes.filter((code) => code === 500).length;
  assert.ok(failed > 5 && failed < 35, String(failed));
  assert.deepEqual(await run(), codes);
});

Deno.test("fault: rejects each invalid field with one message", async () => {
  await using box = await openSandbox();
  for (const wrong of [{ operation: "chargee" }, { fault: "meteor" }, { count: 0 }, { rate: 2 }]) {
    const fault = { operation: "charge", fault: "error_500", ...wrong };
    const { http, body } = await box.call("POST", "/_sandbox/faults", fault);
    assert.equal(http, 400);
    assert.equal(body.validation_messages.length, 1);
  }
});

/**
 * Makes the same calls in every run; returns the responses, with times and the sandbox URL
 * replaced.
 */
async function runCalls(seed: number, isReceiverSlow: boolean): Promise<string> {
  await using box = await openSandbox({ seed });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  box.receiver.answer = async () => {
    if (isReceiverSlow) await released;
    return new Response(null, { status: 503 });
  };
  const responses: Json[] = [];
  for (const kind of ["bca", "permata", "echannel", "gopay", "qris", "indomaret"] as const) {
    responses.push(await box.charge(kind));
  }
  release();
  responses.push(await box.paid("card"), await box.charge("card_3ds"));
  responses.push(await box.post("/v2/order-4/refund", {}), await box.post("/v2/order-1/cancel"));
  responses.push(await box.post("/v1/subscriptions", SUBSCRIPTION));
  responses.push(await box.post("/v1/invoices", INVOICE));
  await box.advance(86_400);
  responses.push(await box.status("order-2"), await box.charge("ovo"));
  return JSON.stringify(responses)
    .replaceAll(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?/g, "time")
    .replaceAll(box.url, "url");
}

Deno.test("seed: the same calls give the same responses, another seed gives different ones", async () => {
  const [first, again, other] = await Promise.all([
    runCalls(7, false),
    runCalls(7, true),
    runCalls(8, false),
  ]);
  assert.equal(again, first);
  assert.notEqual(other, first);
  const ids = (text: string) => new Set(text.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g));
  assert.equal(ids(first).intersection(ids(other)).size, 0);
});

Deno.test("fault hidden_500: uses HTTP 500 if responses of the API have no code in the body", async () => {
  await using box = await openSandbox();
  for (
    const [operation, path] of [
      ["subscription_get", "/v1/subscriptions/x"],
      ["invoice_get", "/v1/invoices/x"],
      ["bin", "/v1/bins/481111"],
    ] as const
  ) {
    await box.fault(operation, "hidden_500");
    assert.equal((await box.call("GET", path)).http, 500, operation);
  }
});
