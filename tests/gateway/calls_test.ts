import assert from "node:assert/strict";
import { GatewayAPIError, type GatewayError } from "../../core/gateway/errors.ts";
import {
  answering,
  clientFor,
  createWaits,
  openGateway,
  openRawServer,
  say,
} from "../support/gateway/gateway.ts";
import { until } from "../support/until.ts";

const OK = { status_code: "200" };
const CHARGE = {
  payment_type: "gopay",
  transaction_details: { order_id: "order-101", gross_amount: 44_000 },
};

function failure(promise: Promise<unknown>): Promise<GatewayError> {
  return promise.then(() => assert.fail("It did not fail"), (error) => error);
}

/** A gateway that keeps every request until it is told to answer. */
function openSlowGateway() {
  const waiting: ((body: object) => void)[] = [];
  const fake = openGateway(() => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    waiting.push((body) => resolve(Response.json(body)));
    return promise;
  });
  return {
    url: fake.url,
    received: fake.received,
    isWaiting: (count: number) => until("requests wait", () => waiting.length >= count),
    answerAll: () => waiting.splice(0).forEach((answer) => answer(OK)),
    async [Symbol.asyncDispose]() {
      waiting.splice(0).forEach((answer) => answer(OK));
      await fake[Symbol.asyncDispose]();
    },
  };
}

Deno.test("an operation has 10 seconds, a charge 15, and whatever the caller says", async () => {
  await using fake = openGateway(answering(OK));
  const waits = createWaits();
  const gateway = clientFor(fake.url, { wait: waits.wait });
  await gateway.getStatus("order-101");
  await gateway.refund("order-101", "refund-1", 1);
  await gateway.charge(CHARGE);
  await gateway.charge(CHARGE, { deadlineMs: 20_000 });
  await gateway.getStatus("order-101", { deadlineMs: 12_000 });
  assert.deepEqual(waits.limits, [10_000, 10_000, 15_000, 20_000, 12_000]);
});

const SILENCES = {
  "silence": "",
  "an answer that stops after its head": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
  "an answer that stops in its body":
    'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"status_code":"200"',
};

for (const [what, bytes] of Object.entries(SILENCES)) {
  Deno.test(`${what} ends with the deadline, the write's end unknown`, async () => {
    let said = 0;
    await using server = openRawServer(async (connection) => {
      await say(connection, bytes);
      said++;
    });
    const waits = createWaits();
    const gateway = clientFor(server.url, { wait: waits.wait });
    const failures = [
      failure(gateway.cancel("order-101")),
      failure(gateway.getStatus("order-101")),
    ];
    await until("both were heard", () => said === 2);
    waits.passDeadlines();
    const [write, read] = await Promise.all(failures);
    assert.ok(write instanceof GatewayAPIError);
    assert.equal(write.failure, "timeout");
    assert.equal(write.outcome, "unknown");
    assert.equal(read?.failure, "timeout");
    assert.equal(read?.outcome, "refused");
    assert.equal(said, 2, "no time was left to try again");
  });
}

const PASSING: Record<string, () => Response> = {
  "HTTP 503": () => new Response("Service Unavailable", { status: 503 }),
  "500 in the body": () => Response.json({ status_code: "500" }),
  "429": () => Response.json({ status_code: "429" }),
};

for (const [what, respond] of Object.entries(PASSING)) {
  Deno.test(`a read that meets ${what} is tried three times more, a write never`, async () => {
    await using fake = openGateway(respond);
    const waits = createWaits();
    const gateway = clientFor(fake.url, { wait: waits.wait, random: () => 0.5 });
    await failure(gateway.getStatus("order-101"));
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
    for (const write of writes) await failure(write());
    assert.equal(fake.received.length, writes.length);
  });
}

Deno.test("a read that meets a broken connection is tried again, and may succeed", async () => {
  await using server = openRawServer(async (connection, number) => {
    const answer = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n" + '{"status_code":"200"}';
    await say(connection, number < 4 ? "garbage\r\n\r\n" : answer);
    if (number < 4) connection.close();
  });
  const { statusCode } = await clientFor(server.url).getStatus("order-101");
  assert.equal(statusCode, "200");
});

Deno.test("a definite answer is not asked for twice", async () => {
  for (const body of [{ status_code: "404" }, { status_code: "401" }, { status_code: "412" }]) {
    await using fake = openGateway(answering(body));
    await failure(clientFor(fake.url).getStatus("order-101"));
    assert.equal(fake.received.length, 1);
  }
  await using unreadable = openGateway(() => new Response("<html>"));
  await failure(clientFor(unreadable.url).getStatus("order-101"));
  assert.equal(unreadable.received.length, 1);
});

Deno.test("a read comes back when the gateway asked it to", async () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  for (const retryAfter of ["7", "Thu, 01 Jan 2026 00:00:07 GMT"]) {
    let count = 0;
    await using fake = openGateway(() =>
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

Deno.test("a retry that would come after the deadline is not tried", async () => {
  const headers = { "Retry-After": "10" };
  await using fake = openGateway(() => Response.json({ status_code: "429" }, { headers }));
  const error = await failure(clientFor(fake.url).getStatus("order-101"));
  assert.equal(error.name, "GatewayRateLimitError");
  assert.equal(error.retryAfterSeconds, 10);
  assert.equal(fake.received.length, 1);
});

Deno.test("a write on a connection that dies after use is sent once, too", async () => {
  const answer = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n" + '{"status_code":"200"}';
  let requests = 0;
  await using server = openRawServer(async (connection) => {
    await say(connection, answer);
    requests++;
    await connection.read(new Uint8Array(65_536));
    requests++;
    connection.close();
  });
  const gateway = clientFor(server.url);
  await gateway.getStatus("order-101");
  const error = await failure(gateway.charge(CHARGE));
  assert.equal(error.outcome, "unknown");
  assert.equal(requests, 2);
  assert.equal(server.connections(), 1);
});

Deno.test("a caller who gives up is let go at once, whatever the call is at", async () => {
  await using slow = openSlowGateway();
  const gateway = clientFor(slow.url, { maxInFlight: 1 });
  const early = await failure(gateway.cancel("order-101", { signal: AbortSignal.abort() }));
  assert.equal(early.failure, "aborted");
  assert.equal(early.outcome, "refused");
  assert.equal(slow.received.length, 0);

  const [sent, queued] = [new AbortController(), new AbortController()];
  const first = failure(gateway.cancel("order-101", { signal: sent.signal }));
  await slow.isWaiting(1);
  const second = failure(gateway.cancel("order-102", { signal: queued.signal }));
  queued.abort();
  assert.equal((await second).outcome, "refused");
  sent.abort(new Error("secret reasons"));
  assert.equal((await first).failure, "aborted");
  assert.equal((await first).outcome, "unknown");
  assert.equal(slow.received.length, 1);
});

Deno.test("only so many calls are under way at once; the others wait their turn", async () => {
  await using slow = openSlowGateway();
  const gateway = clientFor(slow.url, { maxInFlight: 2 });
  const calls = ["a", "b", "c", "d", "e"].map((id) => gateway.cancel(id));
  for (const count of [2, 2, 1]) {
    await slow.isWaiting(count);
    slow.answerAll();
  }
  await Promise.all(calls);
  const order = slow.received.map(({ target }) => target[4]).join("");
  assert.match(order, /^(ab|ba)(cd|dc)e$/);
});

Deno.test("a call whose time is up before its turn was never sent, and is no sign of an outage", async () => {
  await using slow = openSlowGateway();
  const held = createWaits();
  const gateway = clientFor(slow.url, { maxInFlight: 1, wait: held.wait });
  const first = failure(gateway.cancel("first"));
  await slow.isWaiting(1);
  const others = Array.from({ length: 5 }, (_, index) => failure(gateway.cancel(`other-${index}`)));
  held.passDeadlines();
  assert.equal((await first).outcome, "unknown");
  for (const error of await Promise.all(others)) {
    assert.equal(error.failure, "timeout");
    assert.equal(error.outcome, "refused");
  }
  assert.equal(slow.received.length, 1);
  assert.equal(gateway.breakerState(), "closed");

  const next = gateway.cancel("next");
  await slow.isWaiting(2);
  slow.answerAll();
  await next;
});

Deno.test("an operation that is over leaves no timer and no listener behind", async () => {
  await using fake = openGateway(answering(OK));
  // The real timers: one that runs on fails the test.
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

Deno.test("without a wait of the test's own, a read really waits and comes back", async () => {
  await using fake = openGateway(answering({ status_code: "503" }, OK));
  const gateway = clientFor(fake.url, { wait: undefined, random: () => 0.01 });
  assert.equal((await gateway.getStatus("order-101")).statusCode, "200");
  assert.equal(fake.received.length, 2);
});

Deno.test("a debug log that fails costs no call its answer", async () => {
  await using gateway = openGateway(answering({ status_code: "201", transaction_id: "1" }));
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
