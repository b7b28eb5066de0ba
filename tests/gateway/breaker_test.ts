import assert from "node:assert/strict";
import { createCircuitBreaker } from "../../core/gateway/circuit_breaker.ts";
import type { GatewayError } from "../../core/gateway/errors.ts";
import { createDatabase } from "../support/database/database.ts";
import { openApp } from "../support/app.ts";
import {
  clientFor,
  createWaits,
  openFakeGateway,
  openRawServer,
  respondWith,
  sendBytes,
} from "../support/gateway/gateway.ts";
import { until } from "../support/until.ts";

const UNREACHABLE_URL = "http://127.0.0.1:2";
const OK = { status_code: "200" };

/** `breakers`: the same breaker for reads and writes. */
function createTestBreaker() {
  let now = 0;
  const breaker = createCircuitBreaker({ clock: () => now });
  return {
    breaker,
    breakers: { read: breaker, write: breaker },
    advance: (ms: number) => now += ms,
  };
}

/** Opens the breaker with five consecutive calls without a response. */
function openBreaker(breaker: ReturnType<typeof createCircuitBreaker>) {
  for (let count = 0; count < 5; count++) breaker.admit()!.failed();
  assert.equal(breaker.state(), "open");
}

function errorOf(promise: Promise<unknown>): Promise<GatewayError> {
  return promise.then(() => assert.fail("The call did not fail"), (error) => error);
}

Deno.test("breaker: opens after five consecutive calls without a response, and not before", () => {
  const { breaker } = createTestBreaker();
  for (let count = 0; count < 4; count++) breaker.admit()!.failed();
  breaker.admit()!.responded();
  for (let count = 0; count < 4; count++) breaker.admit()!.failed();
  assert.equal(breaker.state(), "closed");
  breaker.admit()!.failed();
  assert.equal(breaker.state(), "open");
  assert.equal(breaker.admit(), null);
});

Deno.test("breaker: stays closed if calls that started later were answered", () => {
  const { breaker } = createTestBreaker();
  const slowCalls = Array.from({ length: 5 }, () => breaker.admit()!);
  breaker.admit()!.responded();
  for (const call of slowCalls) call.failed();
  assert.equal(breaker.state(), "closed");
  openBreaker(breaker);
});

Deno.test("breaker: admits one probe after ten seconds and closes on its response", () => {
  const { breaker, advance } = createTestBreaker();
  openBreaker(breaker);
  advance(9_999);
  assert.equal(breaker.admit(), null);
  advance(1);
  assert.equal(breaker.state(), "half_open");
  const probe = breaker.admit()!;
  assert.equal(breaker.admit(), null);
  assert.equal(breaker.state(), "open", "no other call is admitted");
  probe.responded();
  assert.equal(breaker.state(), "closed");
  openBreaker(breaker);
});

Deno.test("breaker: stays open for another ten seconds if the probe fails", () => {
  const { breaker, advance } = createTestBreaker();
  openBreaker(breaker);
  advance(10_000);
  breaker.admit()!.failed();
  assert.equal(breaker.state(), "open");
  advance(9_999);
  assert.equal(breaker.admit(), null);
  advance(1);
  assert.notEqual(breaker.admit(), null);
});

Deno.test("breaker: admits another probe after an abandoned one", () => {
  const { breaker, advance } = createTestBreaker();
  openBreaker(breaker);
  advance(10_000);
  breaker.admit()!.abandoned();
  assert.equal(breaker.state(), "half_open");
  breaker.admit()!.responded();
  assert.equal(breaker.state(), "closed");
});

Deno.test("breaker: ignores results of calls that started before it opened", () => {
  const { breaker, advance } = createTestBreaker();
  const earlyCalls = Array.from({ length: 3 }, () => breaker.admit()!);
  openBreaker(breaker);
  earlyCalls[0]!.responded();
  assert.equal(breaker.state(), "open");
  advance(10_000);
  const probe = breaker.admit()!;
  earlyCalls[1]!.failed();
  earlyCalls[2]!.abandoned();
  assert.equal(breaker.admit(), null);
  probe.responded();
  assert.equal(breaker.state(), "closed");
});

Deno.test("breaker: admits a probe at once if the clock was set back while the breaker was open", () => {
  const { breaker, advance } = createTestBreaker();
  openBreaker(breaker);
  advance(-3_600_000);
  assert.equal(breaker.state(), "half_open");
});

Deno.test("client: sends nothing while the breaker is open, and calls again after a successful probe", async () => {
  const { breakers, advance } = createTestBreaker();
  const gateway = clientFor(UNREACHABLE_URL, { breakers });
  for (let count = 0; count < 5; count++) {
    const error = await errorOf(gateway.cancel("order-101"));
    assert.equal(error.outcome, "unknown");
    assert.equal(error.failure, "unreachable");
  }
  assert.equal(gateway.breakerState(), "open");

  await using fake = openFakeGateway(respondWith(OK));
  const clientWithSameBreakers = clientFor(fake.url, { breakers });
  for (const call of [clientWithSameBreakers.cancel, clientWithSameBreakers.getStatus]) {
    const error = await errorOf(call("order-101"));
    assert.equal(error.name, "GatewayAPIError");
    assert.equal(error.failure, "unreachable");
    assert.equal(error.outcome, "refused");
  }
  assert.equal(fake.received.length, 0);

  advance(10_000);
  assert.equal(clientWithSameBreakers.breakerState(), "half_open");
  await clientWithSameBreakers.cancel("order-101");
  assert.equal(clientWithSameBreakers.breakerState(), "closed");
  await clientWithSameBreakers.getStatus("order-101");
  assert.equal(fake.received.length, 2);
});

Deno.test("client: stops retrying a read once the breaker is open", async () => {
  const { breaker, breakers } = createTestBreaker();
  for (let count = 0; count < 3; count++) breaker.admit()!.failed();
  const waits = createWaits();
  const error = await errorOf(
    clientFor(UNREACHABLE_URL, { breakers, wait: waits.wait }).getStatus("id"),
  );
  assert.equal(error.failure, "unreachable");
  assert.equal(waits.pauses.length, 1);
  assert.equal(breaker.state(), "open");
});

Deno.test("client: error responses do not open the breaker", async () => {
  await using fake = openFakeGateway(() => new Response("Bad Gateway", { status: 502 }));
  const gateway = clientFor(fake.url);
  for (let count = 0; count < 10; count++) await errorOf(gateway.cancel("order-101"));
  assert.equal(gateway.breakerState(), "closed");
});

Deno.test("client: timeouts open the breaker, aborts by the caller do not", async () => {
  let arrived = 0;
  await using server = openRawServer(async (connection) => {
    await sendBytes(connection, "");
    arrived++;
  });
  const waits = createWaits();
  const gateway = clientFor(server.url, { wait: waits.wait });
  for (let count = 1; count <= 6; count++) {
    const caller = new AbortController();
    const call = errorOf(gateway.cancel("order-101", { signal: caller.signal }));
    await until("the request has arrived", () => arrived === count);
    caller.abort();
    assert.equal((await call).failure, "aborted");
  }
  assert.equal(gateway.breakerState(), "closed");
  for (let count = 7; count <= 11; count++) {
    const call = errorOf(gateway.cancel("order-101"));
    await until("the request has arrived", () => arrived === count);
    waits.passDeadlines();
    assert.equal((await call).failure, "timeout");
  }
  assert.equal(gateway.breakerState(), "open");
});

Deno.test("client: a call fails at once while the breaker is open, even if every slot is in use", async () => {
  const { breaker, breakers } = createTestBreaker();
  let arrived = 0;
  await using server = openRawServer(async (connection) => {
    await sendBytes(connection, "");
    arrived++;
  });
  const waits = createWaits();
  const gateway = clientFor(server.url, { breakers, maxInFlight: 1, wait: waits.wait });
  const firstCall = errorOf(gateway.cancel("first"));
  await until("the only slot is in use", () => arrived === 1);
  openBreaker(breaker);
  assert.equal((await errorOf(gateway.cancel("second"))).outcome, "refused");
  waits.passDeadlines();
  await firstCall;
});

Deno.test("readiness: shows the gateway as down while the breaker is open, and stays ready", async () => {
  await using app = await openApp({ databaseUrl: await createDatabase() });
  const gatewayState = async () => {
    const response = await app.request("/health/ready/");
    assert.equal(response.status, 200);
    return (await response.json()).checks.gateway;
  };
  assert.equal(await gatewayState(), "ok");
  for (let count = 0; count < 5; count++) await errorOf(app.gateway.cancel("order-101"));
  assert.equal(await gatewayState(), "down");
});

Deno.test("client: a timeout after waiting for a slot does not count as a failure of the gateway", async () => {
  const firstResponses = Promise.withResolvers<void>();
  const laterResponses = Promise.withResolvers<void>();
  await using gateway = openFakeGateway(async () => {
    await (gateway.received.length <= SLOTS ? firstResponses : laterResponses).promise;
    return Response.json(OK);
  });
  const SLOTS = 6;
  let now = 0;
  const { wait, passDeadlines } = createWaits();
  const client = clientFor(gateway.url, { maxInFlight: SLOTS, clock: () => now, wait });
  const firstCalls = Array.from({ length: SLOTS }, () => client.cancel("first"));
  await until("the first calls have arrived", () => gateway.received.length === SLOTS);
  // These calls get a slot when most of their deadline has passed, and then time out.
  const laterCalls = Array.from({ length: SLOTS }, () => errorOf(client.cancel("later")));
  now = 9_000;
  firstResponses.resolve();
  await Promise.all(firstCalls);
  await until("the other calls have arrived", () => gateway.received.length === 2 * SLOTS);
  passDeadlines();
  for (const error of await Promise.all(laterCalls)) assert.equal(error.failure, "timeout");
  assert.equal(client.breakerState(), "closed");
  laterResponses.resolve();
});

Deno.test("client: failed reads open only the breaker of reads, failed writes only that of writes", async () => {
  for (const [failing, other] of [["getStatus", "cancel"], ["cancel", "getStatus"]] as const) {
    let isDown = true;
    await using server = openFakeGateway(() => {
      if (!isDown) return Response.json(OK);
      // The body is shorter than its Content-Length, so the connection breaks.
      const body = new ReadableStream({ start: (controller) => controller.close() });
      return new Response(body, { headers: { "Content-Length": "1000" } });
    });
    const gateway = clientFor(server.url, { wait: createWaits().wait });
    for (let count = 0; count < 5; count++) await errorOf(gateway[failing]("order-101"));
    const [failingKind, otherKind] = failing === "cancel"
      ? ["write", "read"] as const
      : ["read", "write"] as const;
    assert.equal(gateway.breakerState(failingKind), "open");
    assert.equal(gateway.breakerState(otherKind), "closed");
    assert.equal(gateway.breakerState(), "open", "the worse of the two states");
    isDown = false;
    await gateway[other]("order-101");
    assert.equal((await errorOf(gateway[failing]("order-101"))).outcome, "refused");
  }
});

Deno.test("client: timeouts of calls with a shorter deadline than normal do not open the breaker", async () => {
  let arrived = 0;
  await using server = openRawServer(async (connection) => {
    await sendBytes(connection, "");
    arrived++;
  });
  const deadlines: { ms: number; pass: () => void }[] = [];
  const gateway = clientFor(server.url, {
    wait(ms, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      deadlines.push({ ms, pass: resolve });
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      return promise;
    },
  });
  const timeOut = async (call: Promise<unknown>, deadlineMs: number) => {
    const error = errorOf(call);
    const count = arrived + 1;
    await until("the request has arrived", () => arrived === count);
    const { ms, pass } = deadlines.pop()!;
    assert.equal(ms, deadlineMs);
    pass();
    assert.equal((await error).failure, "timeout");
  };
  for (let count = 0; count < 8; count++) {
    await timeOut(gateway.getStatus("order-101", { deadlineMs: 4_000 }), 4_000);
    await timeOut(gateway.cancel("order-101", { deadlineMs: 9_999 }), 9_999);
  }
  assert.equal(gateway.breakerState(), "closed");
  for (let count = 0; count < 5; count++) await timeOut(gateway.getStatus("order-101"), 10_000);
  assert.equal(gateway.breakerState("read"), "open");
});
