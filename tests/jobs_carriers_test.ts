import assert from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "../core/clock.ts";
import type { OpenCarrier } from "../core/jobs/carrier.ts";
import { openKvCarrier } from "../core/jobs/kv_carrier.ts";
import { createTimerCarrier } from "../core/jobs/timer_carrier.ts";
import { createWorker } from "../core/jobs/worker.ts";
import { createLog } from "../core/log.ts";
import { createDatabase } from "./support/database.ts";
import { openInstance, task } from "./support/jobs.ts";
import { dataFolder } from "./support/service.ts";
import { until } from "./support/until.ts";

const databaseUrl = await createDatabase();

const DAY_MS = 24 * 3_600_000;

const log = createLog(() => {});

const CARRIERS: Record<string, (folder: string) => Promise<OpenCarrier>> = {
  kv: (folder) => openKvCarrier({ path: join(folder, "jobs.kv"), clock: systemClock, log }),
  timer: () => Promise.resolve(createTimerCarrier({ clock: systemClock })),
};

function fromNow(ms: number): Date {
  return new Date(Date.now() + ms);
}

for (const [name, open] of Object.entries(CARRIERS)) {
  Deno.test(`${name}: what is due first is delivered first, what is far off not now`, async () => {
    await using folder = await dataFolder();
    await using carrier = await open(folder.path);
    const delivered: string[] = [];
    carrier.start((id) => Promise.resolve(void delivered.push(id)));
    carrier.carry({ id: "far", run_at: fromNow(DAY_MS) });
    carrier.carry({ id: "too far", run_at: fromNow(60 * DAY_MS) });
    carrier.carry({ id: "later", run_at: fromNow(300) });
    carrier.carry({ id: "now", run_at: fromNow(-1_000) });
    await until("both are there", () => delivered.length >= 2);
    assert.deepEqual(delivered, ["now", "later"]);
  });

  Deno.test(`${name}: a job that fails is brought again until it succeeds`, async () => {
    await using folder = await dataFolder();
    await using instance = openInstance({ databaseUrl });
    await using carrier = await open(folder.path);
    let runs = 0;
    const worker = createWorker({
      database: instance.database,
      tasks: {
        greet: task(() => ++runs < 3 ? Promise.reject(new Error("no")) : Promise.resolve("yes"), {
          firstDelayMs: 10,
        }),
      },
      carrier,
      clock: systemClock,
      log: instance.log,
      maxRunning: 10,
    });
    carrier.start(worker.run);
    const id = await instance.insert();
    carrier.carry({ id, run_at: new Date() });
    await until("it is over", async () => (await instance.find(id)).status === "succeeded");
    assert.equal((await instance.find(id)).attempts, 3);
    await worker.close(10_000);
  });

  Deno.test(`${name}: carrying never fails, not even at the end`, async () => {
    await using folder = await dataFolder();
    const carrier = await open(folder.path);
    let delivered = 0;
    carrier.start(() => Promise.resolve(void delivered++));
    await carrier[Symbol.asyncDispose]();
    carrier.carry({ id: "late", run_at: new Date() });
    assert.equal(delivered, 0);
  });
}

Deno.test("kv: what was under way at the end is delivered after the next start", async () => {
  await using folder = await dataFolder();
  {
    await using carrier = await CARRIERS.kv!(folder.path);
    for (const id of ["a", "b", "c"]) carrier.carry({ id, run_at: fromNow(10) });
  }
  await using carrier = await CARRIERS.kv!(folder.path);
  const delivered: string[] = [];
  carrier.start((id) => Promise.resolve(void delivered.push(id)));
  await until("all are there", () => delivered.length >= 3);
  assert.deepEqual(delivered.toSorted(), ["a", "b", "c"]);
});

Deno.test("kv: what somebody else left in the file is passed over", async () => {
  await using folder = await dataFolder();
  const kv = await Deno.openKv(join(folder.path, "jobs.kv"));
  for (const message of ["text", null, { job: 7 }, {}]) await kv.enqueue(message);
  kv.close();
  await using carrier = await CARRIERS.kv!(folder.path);
  const delivered: unknown[] = [];
  carrier.start((id) => Promise.resolve(void delivered.push(id)));
  carrier.carry({ id: "ours", run_at: fromNow(200) });
  await until("ours is there", () => delivered.includes("ours"));
  assert.deepEqual(delivered, ["ours"]);
});

Deno.test("kv: a queue that takes nothing is logged, and nobody is the worse for it", async () => {
  await using folder = await dataFolder();
  let logged = "";
  const log = createLog((lines) => logged += lines);
  const path = join(folder.path, "jobs.kv");
  // Of a time that is none the queue can make nothing.
  await using carrier = await openKvCarrier({ path, clock: () => Number.NaN, log });
  carrier.carry({ id: "x", run_at: new Date() });
  await until("it is logged", () => {
    log.flush();
    return logged.includes("job_not_carried");
  });
});

Deno.test("timer: the latest word on a job counts", async () => {
  await using carrier = createTimerCarrier({ clock: systemClock });
  const delivered: string[] = [];
  carrier.start((id) => Promise.resolve(void delivered.push(id)));
  carrier.carry({ id: "a", run_at: new Date() });
  carrier.carry({ id: "a", run_at: fromNow(DAY_MS) });
  carrier.carry({ id: "b", run_at: fromNow(DAY_MS) });
  carrier.carry({ id: "b", run_at: new Date() });
  await until("b is there", () => delivered.length > 0);
  assert.deepEqual(delivered, ["b"]);
});
