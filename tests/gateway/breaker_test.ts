import assert from "node:assert/strict";
import { createCircuitBreaker } from "../../core/gateway/circuit_breaker.ts";
import type { GatewayError } from "../../core/gateway/errors.ts";
import { createDatabase } from "../support/database/database.ts";
import { openApp } from "../support/app.ts";
import {
  answering,
  clientFor,
  createWaits,
  openGateway,
  openRawServer,
  say,
} from "../support/gateway/gateway.ts";
import { until } from "../support/until.ts";

const NOWHERE = "http://127.0.0.1:2";
const OK = { status_code: "200" };

function createTestBreaker() {
  let now = 0;
  const breaker = createCircuitBreaker({ clock: () => now });
  return { breaker, pass: (ms: number) => now += ms };
}

/** Five calls in a row that nobody answers. */
function open(breaker: ReturnType<typeof createCircuitBreaker>) {
  for (let count = 0; count < 5; count++) breaker.admit()!.failed();
  assert.equal(breaker.state(), "open");
}

function failure(promise: Promise<unknown>): Promise<GatewayError> {
  return promise.then(() => assert.fail("It did not fail"), (error) => error);
}

Deno.test("it opens after five calls in a row without an answer, and not before", () => {
  const { breaker } = createTestBreaker();
  for (let count = 0; count < 4; count++) breaker.admit()!.failed();
  breaker.admit()!.responded();
  for (let count = 0; count < 4; count++) breaker.admit()!.failed();
  assert.equal(breaker.state(), "closed");
  breaker.admit()!.failed();
  assert.equal(breaker.state(), "open");
  assert.equal(breaker.admit(), null);
});

Deno.test("after ten seconds one call goes through, and its answer closes it", () => {
  const { breaker, pass } = createTestBreaker();
  open(breaker);
  pass(9_999);
  assert.equal(breaker.admit(), null);
  pass(1);
  assert.equal(breaker.state(), "half_open");
  const probe = breaker.admit()!;
  assert.equal(breaker.admit(), null);
  assert.equal(breaker.state(), "open", "there is no place for others");
  probe.responded();
  assert.equal(breaker.state(), "closed");
  open(breaker);
});

Deno.test("a probe that is not answered opens it for another ten seconds", () => {
  const { breaker, pass } = createTestBreaker();
  open(breaker);
  pass(10_000);
  breaker.admit()!.failed();
  assert.equal(breaker.state(), "open");
  pass(9_999);
  assert.equal(breaker.admit(), null);
  pass(1);
  assert.notEqual(breaker.admit(), null);
});

Deno.test("a probe that its caller gave up leaves the place to the next", () => {
  const { breaker, pass } = createTestBreaker();
  open(breaker);
  pass(10_000);
  breaker.admit()!.abandoned();
  assert.equal(breaker.state(), "half_open");
  breaker.admit()!.responded();
  assert.equal(breaker.state(), "closed");
});

Deno.test("what began before it opened says nothing about now", () => {
  const { breaker, pass } = createTestBreaker();
  const early = Array.from({ length: 3 }, () => breaker.admit()!);
  open(breaker);
  early[0]!.responded();
  assert.equal(breaker.state(), "open");
  pass(10_000);
  const probe = breaker.admit()!;
  early[1]!.failed();
  early[2]!.abandoned();
  assert.equal(breaker.admit(), null);
  probe.responded();
  assert.equal(breaker.state(), "closed");
});

Deno.test("a clock that is set back does not keep it open", () => {
  const { breaker, pass } = createTestBreaker();
  open(breaker);
  pass(-3_600_000);
  assert.equal(breaker.state(), "half_open");
});

Deno.test("a gateway that is not there is soon not called any more", async () => {
  const { breaker, pass } = createTestBreaker();
  const gateway = clientFor(NOWHERE, { breaker });
  for (let count = 0; count < 5; count++) {
    const error = await failure(gateway.cancel("order-101"));
    assert.equal(error.outcome, "unknown");
    assert.equal(error.failure, "unreachable");
  }
  assert.equal(gateway.breakerState(), "open");

  await using fake = openGateway(answering(OK));
  const shared = clientFor(fake.url, { breaker });
  for (const call of [shared.cancel, shared.getStatus]) {
    const error = await failure(call("order-101"));
    assert.equal(error.name, "GatewayAPIError");
    assert.equal(error.failure, "unreachable");
    assert.equal(error.outcome, "refused");
  }
  assert.equal(fake.received.length, 0);

  pass(10_000);
  assert.equal(shared.breakerState(), "half_open");
  await shared.cancel("order-101");
  assert.equal(shared.breakerState(), "closed");
  await shared.getStatus("order-101");
  assert.equal(fake.received.length, 2);
});

Deno.test("a read stops trying once it is open", async () => {
  const { breaker } = createTestBreaker();
  for (let count = 0; count < 3; count++) breaker.admit()!.failed();
  const waits = createWaits();
  const error = await failure(clientFor(NOWHERE, { breaker, wait: waits.wait }).getStatus("id"));
  assert.equal(error.failure, "unreachable");
  assert.equal(waits.pauses.length, 1);
  assert.equal(breaker.state(), "open");
});

Deno.test("errors are answers, however many", async () => {
  await using fake = openGateway(() => new Response("Bad Gateway", { status: 502 }));
  const gateway = clientFor(fake.url);
  for (let count = 0; count < 10; count++) await failure(gateway.cancel("order-101"));
  assert.equal(gateway.breakerState(), "closed");
});

Deno.test("timeouts open it, callers who give up do not", async () => {
  let heard = 0;
  await using server = openRawServer(async (connection) => {
    await say(connection, "");
    heard++;
  });
  const waits = createWaits();
  const gateway = clientFor(server.url, { wait: waits.wait });
  for (let count = 1; count <= 6; count++) {
    const caller = new AbortController();
    const call = failure(gateway.cancel("order-101", { signal: caller.signal }));
    await until("it was heard", () => heard === count);
    caller.abort();
    assert.equal((await call).failure, "aborted");
  }
  assert.equal(gateway.breakerState(), "closed");
  for (let count = 7; count <= 11; count++) {
    const call = failure(gateway.cancel("order-101"));
    await until("it was heard", () => heard === count);
    waits.passDeadlines();
    assert.equal((await call).failure, "timeout");
  }
  assert.equal(gateway.breakerState(), "open");
});

Deno.test("open, it fails calls at once even where every place is taken", async () => {
  const { breaker } = createTestBreaker();
  let heard = 0;
  await using server = openRawServer(async (connection) => {
    await say(connection, "");
    heard++;
  });
  const waits = createWaits();
  const gateway = clientFor(server.url, { breaker, maxInFlight: 1, wait: waits.wait });
  const first = failure(gateway.cancel("first"));
  await until("the only place is taken", () => heard === 1);
  open(breaker);
  assert.equal((await failure(gateway.cancel("second"))).outcome, "refused");
  waits.passDeadlines();
  await first;
});

Deno.test("readiness shows the breaker's state, and stays ready", async () => {
  await using app = await openApp({ databaseUrl: await createDatabase() });
  const ready = async () => {
    const response = await app.request("/health/ready/");
    assert.equal(response.status, 200);
    return (await response.json()).checks.gateway;
  };
  assert.equal(await ready(), "closed");
  for (let count = 0; count < 5; count++) await failure(app.gateway.cancel("order-101"));
  assert.equal(await ready(), "open");
});

Deno.test("a busy gateway is none that is down: time spent in line does not count against it", async () => {
  const early = Promise.withResolvers<void>();
  const late = Promise.withResolvers<void>();
  await using gateway = openGateway(async () => {
    await (gateway.received.length <= PLACES ? early : late).promise;
    return Response.json(OK);
  });
  const PLACES = 6;
  let now = 0;
  const { wait, passDeadlines } = createWaits();
  const client = clientFor(gateway.url, { maxInFlight: PLACES, clock: () => now, wait });
  const first = Array.from({ length: PLACES }, () => client.cancel("first"));
  await until("the first are there", () => gateway.received.length === PLACES);
  // Those behind them get their turn when most of their time is over, and run out of it then.
  const others = Array.from({ length: PLACES }, () => failure(client.cancel("later")));
  now = 9_000;
  early.resolve();
  await Promise.all(first);
  await until("the others are there", () => gateway.received.length === 2 * PLACES);
  passDeadlines();
  for (const error of await Promise.all(others)) assert.equal(error.failure, "timeout");
  assert.equal(client.breakerState(), "closed");
  late.resolve();
});
