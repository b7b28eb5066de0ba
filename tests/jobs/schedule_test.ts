import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createScheduler, type ScheduleEntry, tick } from "../../core/jobs/schedule.ts";
import { listCronRuns } from "../../db/jobs/cron_runs.ts";
import { createDatabase } from "../support/database/database.ts";
import { type Instance, openInstance } from "../support/jobs/jobs.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { until } from "../support/until.ts";

const databaseUrl = await createDatabase();

const NOON = Date.UTC(2026, 0, 1, 12);
const MINUTE_MS = 60_000;

function newEntry(run: ScheduleEntry["run"]): ScheduleEntry {
  return { name: `test_${randomUUID()}`, cron: "* * * * *", run };
}

function tickAt(instance: Instance, now: number, entry: ScheduleEntry): Promise<void> {
  return tick({ ...instance, clock: () => now }, entry);
}

async function lastRun({ database }: Instance, { name }: ScheduleEntry) {
  const run = (await database.query(listCronRuns)).find(({ task }) => task === name);
  assert.ok(run);
  return run;
}

Deno.test("tick: of five instances exactly one runs each tick", async () => {
  const instances = Array.from({ length: 5 }, () => openInstance({ databaseUrl }));
  let runs = 0;
  const entry = newEntry(() => Promise.resolve(runs++));
  for (let minute = 0; minute < 20; minute++) {
    // The clocks of the instances differ by up to 20 s.
    const at = (index: number) => NOON + minute * MINUTE_MS + index * 5_000;
    await Promise.all(instances.map((instance, index) => tickAt(instance, at(index), entry)));
    assert.equal(runs, minute + 1);
    const run = await lastRun(instances[0]!, entry);
    assert.equal(run.minute.getTime(), NOON + minute * MINUTE_MS);
    assert.ok(run.finished_at);
    assert.equal(run.error, null);
  }
  for (const instance of instances) await instance[Symbol.asyncDispose]();
});

Deno.test("tick: a failure is logged and stored without secrets, and the next tick runs", async () => {
  await using instance = openInstance({ databaseUrl });
  let fails = true;
  const entry = newEntry(() => {
    if (fails) throw new Error("refused Mid-server-abcdefgh12345678");
    return Promise.resolve();
  });
  await tickAt(instance, NOON, entry);
  const failed = await lastRun(instance, entry);
  assert.equal(failed.error, "Error: refused Mid-server-[secret]");
  assert.ok(failed.finished_at);
  assert.match(instance.logged(), new RegExp(`"event":"tick_failed","task":"${entry.name}"`));
  fails = false;
  await tickAt(instance, NOON + MINUTE_MS, entry);
  assert.equal((await lastRun(instance, entry)).error, null);
});

Deno.test("tick: a timer that fires early runs the tick of the coming minute, and later timers do not repeat it", async () => {
  await using instance = openInstance({ databaseUrl });
  let runs = 0;
  const entry = newEntry(() => Promise.resolve(runs++));
  await tickAt(instance, NOON - 5, entry);
  assert.equal((await lastRun(instance, entry)).minute.getTime(), NOON);
  for (const offset of [5, 59_000 - 1, -MINUTE_MS]) await tickAt(instance, NOON + offset, entry);
  assert.equal(runs, 1);
});

Deno.test("tick: runs again after a clock that was far ahead is corrected", async () => {
  await using instance = openInstance({ databaseUrl });
  let runs = 0;
  const entry = newEntry(() => Promise.resolve(runs++));
  await tickAt(instance, NOON + 365 * 24 * 60 * MINUTE_MS, entry);
  await tickAt(instance, NOON, entry);
  assert.equal(runs, 2);
});

Deno.test("tick: a tick that ends after the next tick began does not overwrite the record of the next tick", async () => {
  await using instance = openInstance({ databaseUrl });
  const slowRun = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const entry = newEntry(() => {
    begun.resolve();
    return slowRun.promise;
  });
  const firstTick = tickAt(instance, NOON, entry);
  await begun.promise;
  const nextEntry = { ...entry, run: () => Promise.resolve() };
  await tickAt(instance, NOON + MINUTE_MS, nextEntry);
  slowRun.reject(new Error("too late"));
  await firstTick;
  const run = await lastRun(instance, entry);
  assert.deepEqual([run.minute.getTime(), run.error], [NOON + MINUTE_MS, null]);
});

Deno.test("tick: without a database nothing runs, and the error is logged and not thrown", async () => {
  const { proxy, url } = throughProxy(databaseUrl);
  await using _ = proxy;
  await using instance = openInstance({ databaseUrl: url });
  proxy.cut();
  let runs = 0;
  await tickAt(instance, NOON, newEntry(() => Promise.resolve(runs++)));
  assert.equal(runs, 0);
  assert.match(instance.logged(), /"event":"tick_interrupted"/);
});

Deno.test("schedule: runs each entry when it is due, and makes up for skipped minutes", async () => {
  const instance = openInstance({ databaseUrl });
  let now = NOON;
  const ran: string[] = [];
  const entries = ["* * * * *", "*/5 * * * *", "7 * * * *"].map((cron) => ({
    ...newEntry(() => Promise.resolve(void ran.push(cron))),
    cron,
  }));
  const { runDue } = createScheduler({ ...instance, clock: () => now }, entries);
  async function ranAt(minute: number): Promise<string[]> {
    now = NOON + minute * MINUTE_MS;
    await runDue();
    return ran.splice(0).toSorted();
  }
  assert.deepEqual(await ranAt(1), ["* * * * *"]);
  assert.deepEqual(await ranAt(2), ["* * * * *"]);
  assert.deepEqual(await ranAt(5), ["* * * * *", "*/5 * * * *"]);
  assert.deepEqual(await ranAt(5.5), []);
  // Minute 10 is skipped. A timer that fires a second early belongs to the next minute.
  assert.deepEqual(await ranAt(9.5), ["* * * * *", "7 * * * *"]);
  assert.deepEqual(await ranAt(10.99), ["* * * * *", "*/5 * * * *"]);
  assert.deepEqual(await ranAt(12), ["* * * * *"]);
});

Deno.test("schedule: an entry that still runs delays no other entry, and is not started again", async () => {
  const instance = openInstance({ databaseUrl });
  let now = NOON;
  const slow = Promise.withResolvers<void>();
  const starts = { slow: 0, quick: 0 };
  const entries = [
    newEntry(() => (starts.slow++, slow.promise)),
    newEntry(() => Promise.resolve(void starts.quick++)),
  ];
  const { runDue } = createScheduler({ ...instance, clock: () => now }, entries);
  const first = runDue();
  await until("both have started", () => starts.slow === 1 && starts.quick === 1);
  // The end of the first run may not be stored yet.
  await until("the quick entry runs again", async () => {
    now += MINUTE_MS;
    await runDue();
    return starts.quick === 2;
  });
  assert.equal(starts.slow, 1);
  slow.resolve();
  await first;
  now += MINUTE_MS;
  await runDue();
  assert.deepEqual(starts, { slow: 2, quick: 3 });
});
