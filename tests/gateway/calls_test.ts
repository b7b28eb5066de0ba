import assert from "node:assert/strict";
import { GatewayAPIError, type GatewayError } from "../../core/gateway/errors.ts";
import {
  clientFor,
  createWaits,
  openFakeGateway,
  openRawServer,
  respondWith,
  sendBytes,
} from "../support/gateway/gateway.ts";
import { until } from "../support/until.ts";

const OK = { status_code: "200" };
const CHARGE = {
  payment_type: "gopay",
  transaction_details: { order_id: "order-101", gross_amount: 44_000 },
};

function errorOf(promise: Promise<unknown>): Promise<GatewayError> {
  return promise.then(() => assert.fail("The call did not fail"), (error) => error);
}

/** A gateway that holds every request until the test lets it respond. */
function openSlowGateway() {
  const waiting: ((body: object) => void)[] = [];
  const fake = openFakeGateway(() => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    waiting.push((body) => resolve(Response.json(body)));
    return promise;
  });
  return {
    url: fake.url,
    received: fake.received,
    untilWaiting: (count: number) => until("requests are waiting", () => waiting.length >= count),
    respondToAll: () => waiting.splice(0).forEach((respond) => respond(OK)),
    async [Symbol.asyncDispose]() {
      waiting.splice(0).forEach((respond) => respond(OK));
      await fake[Symbol.asyncDispose]();
    },
  };
}

Deno.test("deadline: is 10 seconds, 15 seconds for a charge, or the value that the caller sets", async () => {
  await using fake = openFakeGateway(respondWith(OK));
  const waits = createWaits();
  const gateway = clientFor(fake.url, { wait: waits.wait });
  await gateway.getStatus("order-101");
  await gateway.refund("order-101", "refund-1", 1);
  await gateway.charge(CHARGE);
  await gateway.charge(CHARGE, { deadlineMs: 20_000 });
  await gateway.getStatus("order-101", { deadlineMs: 12_000 });
  assert.deepEqual(waits.limits, [10_000, 10_000, 15_000, 20_000, 12_000]);
});

const STALLS = {
  "no response": "",
  "a response that stops after its headers": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
  "a response that stops in its body":
    'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"status_code":"200"',
};

for (const [what, bytes] of Object.entries(STALLS)) {
  Deno.test(`deadline: ends a call with ${what}; a write then has an unknown outcome`, async () => {
    let served = 0;
    await using server = openRawServer(async (connection) => {
      await sendBytes(connection, bytes);
      served++;
    });
    const waits = createWaits();
    const gateway = clientFor(server.url, { wait: waits.wait });
    const failures = [
      errorOf(gateway.cancel("order-101")),
      errorOf(gateway.getStatus("order-101")),
    ];
    await until("both requests have arrived", () => served === 2);
    waits.passDeadlines();
    const [write, read] = await Promise.all(failures);
    assert.ok(write instanceof GatewayAPIError);
    assert.equal(write.failure, "timeout");
    assert.equal(write.outcome, "unknown");
    assert.equal(read?.failure, "timeout");
    assert.equal(read?.outcome, "refused");
    assert.equal(served, 2, "no time was left for a retry");
  });
}

const TEMPORARY: Record<string, () => Response> = {
  "HTTP 503": () => new Response("Service Unavailable", { status: 503 }),
  "500 in the body": () => Response.json({ status_code: "500" }),
  "429": () => Response.json({ status_code: "429" }),
};

for (const [what, respond] of Object.entries(TEMPORARY)) {
  Deno.test(`retry: repeats a read three times after ${what}, and never a write`, async () => {
    await using fake = openFakeGateway(respond);
    const waits = createWaits();
    const gateway = clientFor(fake.url, { wait: waits.wait, random: () => 0.5 });
    await errorOf(gateway.getStatus("order-101"));
    assert.equal(fake.received.length, 4);
    assert.deepEqual(waits.pauses, [50, 100, 200]);

    fake.received.length = 0;
    const writes = [
      () => gateway.charge(CHARGE),
      () => gateway.cancel("order-101"),
      () => gateway.createSubscription({}),
      () => gateway.updateSubscription("subscription-1", {}),
      () => gateway.voidInvoice("invoice-1"),
      () => gateway.getCardToken("4811111111111114", 1, 2030, "123"),
      () => gateway.registerCard("4811111111111114", 1, 2030),
    ];
    for (const write of writes) await errorOf(write());
    assert.equal(fake.received.length, writes.length);
  });
}

Deno.test("retry: repeats a read after a broken connection", async () => {
  await using server = openRawServer(async (connection, number) => {
    const answer = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n" + '{"status_code":"200"}';
    await sendBytes(connection, number < 4 ? "garbage\r\n\r\n" : answer);
    if (number < 4) connection.close();
  });
  const { statusCode } = await clientFor(server.url).getStatus("order-101");
  assert.equal(statusCode, "200");
});

Deno.test("retry: does not repeat a read after a definite error", async () => {
  for (const body of [{ status_code: "404" }, { status_code: "401" }, { status_code: "412" }]) {
    await using fake = openFakeGateway(respondWith(body));
    await errorOf(clientFor(fake.url).getStatus("order-101"));
    assert.equal(fake.received.length, 1);
  }
  await using unreadable = openFakeGateway(() => new Response("<html>"));
  await errorOf(clientFor(unreadable.url).getStatus("order-101"));
  assert.equal(unreadable.received.length, 1);
});

Deno.test("retry: waits as long as Retry-After says", async () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  for (const retryAfter of ["7", "Thu, 01 Jan 2026 00:00:07 GMT"]) {
    let count = 0;
    await using fake = openFakeGateway(() =>
      count++ === 0
        ? new Response(null, { status: 503, headers: { "Retry-After": retryAfter } })
        : Response.json(OK)
    );
    const waits = createWaits();
    const options = { wait: waits.wait, clock: () => now, random: () => 0 };
    await clientFor(fake.url, options).getStatus("order-101");
    assert.deepEqual(waits.pauses, [7_000]);
  }
});

Deno.test("retry: does not wait beyond the deadline", async () => {
  const headers = { "Retry-After": "10" };
  await using fake = openFakeGateway(() => Response.json({ status_code: "429" }, { headers }));
  const error = await errorOf(clientFor(fake.url).getStatus("order-101"));
  assert.equal(error.name, "GatewayRateLimitError");
  assert.equal(error.retryAfterSeconds, 10);
  assert.equal(fake.received.length, 1);
});

Deno.test("write: is sent once when a reused connection breaks", async () => {
  const answer = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n" + '{"status_code":"200"}';
  let requests = 0;
  await using server = openRawServer(async (connection) => {
    await sendBytes(connection, answer);
    requests++;
    await connection.read(new Uint8Array(65_536));
    requests++;
    connection.close();
  });
  const gateway = clientFor(server.url);
  await gateway.getStatus("order-101");
  const error = await errorOf(gateway.charge(CHARGE));
  assert.equal(error.outcome, "unknown");
  assert.equal(requests, 2);
  assert.equal(server.connections(), 1);
});

Deno.test("abort: ends the call at once, whether it has not started, waits for a slot or is sent", async () => {
  await using slowGateway = openSlowGateway();
  const gateway = clientFor(slowGateway.url, { maxInFlight: 1 });
  const abortedCall = await errorOf(gateway.cancel("order-101", { signal: AbortSignal.abort() }));
  assert.equal(abortedCall.failure, "aborted");
  assert.equal(abortedCall.outcome, "refused");
  assert.equal(slowGateway.received.length, 0);

  const [sent, queued] = [new AbortController(), new AbortController()];
  const sentCall = errorOf(gateway.cancel("order-101", { signal: sent.signal }));
  await slowGateway.untilWaiting(1);
  const queuedCall = errorOf(gateway.cancel("order-102", { signal: queued.signal }));
  queued.abort();
  assert.equal((await queuedCall).outcome, "refused");
  sent.abort(new Error("secret reasons"));
  assert.equal((await sentCall).failure, "aborted");
  assert.equal((await sentCall).outcome, "unknown");
  assert.equal(slowGateway.received.length, 1);
});

Deno.test("limit: runs maxInFlight calls at the same time, the others in order of arrival", async () => {
  await using slowGateway = openSlowGateway();
  const gateway = clientFor(slowGateway.url, { maxInFlight: 2 });
  const calls = ["a", "b", "c", "d", "e"].map((id) => gateway.cancel(id));
  for (const count of [2, 2, 1]) {
    await slowGateway.untilWaiting(count);
    slowGateway.respondToAll();
  }
  await Promise.all(calls);
  const order = slowGateway.received.map(({ target }) => target[4]).join("");
  assert.match(order, /^(ab|ba)(cd|dc)e$/);
});

Deno.test("limit: a call that times out while waiting is not sent and does not count for the breaker", async () => {
  await using slowGateway = openSlowGateway();
  const waits = createWaits();
  const gateway = clientFor(slowGateway.url, { maxInFlight: 1, wait: waits.wait });
  const sentCall = errorOf(gateway.cancel("first"));
  await slowGateway.untilWaiting(1);
  const waitingCalls = Array.from(
    { length: 5 },
    (_, index) => errorOf(gateway.cancel(`other-${index}`)),
  );
  waits.passDeadlines();
  assert.equal((await sentCall).outcome, "unknown");
  for (const error of await Promise.all(waitingCalls)) {
    assert.equal(error.failure, "timeout");
    assert.equal(error.outcome, "refused");
  }
  assert.equal(slowGateway.received.length, 1);
  assert.equal(gateway.breakerState(), "closed");

  const nextCall = gateway.cancel("next");
  await slowGateway.untilWaiting(2);
  slowGateway.respondToAll();
  await nextCall;
});

Deno.test("call: leaves no timer and no listener behind", async () => {
  await using fake = openFakeGateway(respondWith(OK));
  // Real timers: the test fails if one of them is left behind.
  const gateway = clientFor(fake.url, { wait: undefined });
  const { signal } = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners++;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners--;
    removeEventListener.apply(signal, args);
  };
  await gateway.getStatus("order-101", { signal });
  await gateway.cancel("order-101", { signal });
  assert.equal(listeners, 0);
});

Deno.test("retry: works with real timers", async () => {
  await using fake = openFakeGateway(respondWith({ status_code: "503" }, OK));
  const gateway = clientFor(fake.url, { wait: undefined, random: () => 0.01 });
  assert.equal((await gateway.getStatus("order-101")).statusCode, "200");
  assert.equal(fake.received.length, 2);
});

Deno.test("exchange log: an error in onExchange does not fail the call", async () => {
  await using gateway = openFakeGateway(respondWith({ status_code: "201", transaction_id: "1" }));
  const client = clientFor(gateway.url, {
    onExchange: () => {
      throw new Error("The disk is full");
    },
  });
  const payload = {
    payment_type: "gopay",
    transaction_details: { order_id: "one", gross_amount: 1000 },
  };
  assert.equal((await client.charge(payload)).body.transaction_id, "1");
});
