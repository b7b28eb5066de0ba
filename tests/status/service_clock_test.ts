import assert from "node:assert/strict";
import { createLog } from "../../core/telemetry/log.ts";
import { openServiceClock } from "../../core/time/service_clock.ts";
import { type Database, DatabaseUnavailable } from "../../db/connection/database.ts";
import { until } from "../support/until.ts";

const NOON = Date.parse("2026-01-01T12:00:00Z");
const [SECOND_MS, MINUTE_MS] = [1_000, 60_000];

/** A clock whose machine and database the test controls. `passMs` lets time pass on both. */
async function openClock(options: { wallAheadMs?: number; firstResponseMs?: number } = {}) {
  const machine = { monotonicMs: 5_000, wallAheadMs: options.wallAheadMs ?? 0 };
  const server = { time: NOON, responseMs: options.firstResponseMs ?? 0, isDown: false };
  let measurements = 0;
  let logged = "";

  function passMs(ms: number) {
    machine.monotonicMs += ms;
    server.time += ms;
  }

  /** The server reads its clock just before it responds. */
  const database = {
    query() {
      if (server.isDown) return Promise.reject(new DatabaseUnavailable("down"));
      measurements++;
      passMs(server.responseMs);
      return Promise.resolve(server.time);
    },
  } as Pick<Database, "query"> as Database;
  const log = createLog((lines) => logged += lines);
  const clock = await openServiceClock({
    database,
    log,
    machine: {
      monotonic: () => machine.monotonicMs,
      wall: () => NOON + machine.monotonicMs - 5_000 + machine.wallAheadMs,
    },
    refreshMs: null,
  });
  return {
    ...clock,
    machine,
    server,
    passMs,
    measurements: () => measurements,
    logged() {
      log.flush();
      return logged;
    },
  };
}

for (const minutes of [-20, 0, 20]) {
  Deno.test(`service clock: on a machine whose clock is ${minutes} minutes ahead, shows the database's time`, async () => {
    const clock = await openClock({ wallAheadMs: minutes * MINUTE_MS });
    assert.equal(clock.now(), NOON);
    clock.passMs(7 * SECOND_MS);
    assert.equal(clock.now(), NOON + 7 * SECOND_MS);
    assert.equal(clock.isReliable(), true);
  });
}

Deno.test("service clock: a step of the machine's clock does not change the time, which is measured again", async () => {
  const clock = await openClock();
  clock.machine.wallAheadMs = 20 * MINUTE_MS;
  assert.equal(clock.isReliable(), false);
  assert.equal(clock.now(), NOON);
  await until("the time is measured again", () => clock.isReliable());
  assert.equal(clock.measurements(), 2);
  assert.equal(clock.now(), NOON);
});

Deno.test("service clock: a slow response of the database does not move the time", async () => {
  const clock = await openClock();
  clock.server.responseMs = 30 * SECOND_MS;
  await clock.measure();
  assert.equal(clock.now(), NOON + 30 * SECOND_MS);
  assert.equal(clock.isReliable(), true);
});

Deno.test("service clock: after a slow first response, the next one corrects the time without a jump", async () => {
  const clock = await openClock({ firstResponseMs: 10 * SECOND_MS });
  assert.equal(clock.now(), NOON + 15 * SECOND_MS);
  clock.server.responseMs = 0;
  await clock.measure();
  assert.equal(clock.now(), NOON + 10 * SECOND_MS);
  assert.equal(clock.isReliable(), true);
  assert.equal(clock.logged(), "");
});

Deno.test("service clock: a jump of the database's time is logged, and nothing is decided by time until the next measurement", async () => {
  const clock = await openClock();
  clock.server.time += 20 * MINUTE_MS;
  await clock.measure();
  assert.equal(clock.now(), NOON + 20 * MINUTE_MS);
  assert.equal(clock.isReliable(), false);
  assert.match(clock.logged(), /"event":"clock_jumped","ms":1200000,/);
  await clock.measure();
  assert.equal(clock.isReliable(), true);
});

Deno.test("service clock: without a measurement for a minute, nothing is decided by time", async () => {
  const clock = await openClock();
  clock.server.isDown = true;
  clock.passMs(MINUTE_MS);
  await assert.rejects(clock.measure(), DatabaseUnavailable);
  assert.equal(clock.isReliable(), false);
  clock.server.isDown = false;
  await clock.measure();
  assert.equal(clock.isReliable(), true);
});
