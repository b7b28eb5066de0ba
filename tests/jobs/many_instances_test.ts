import assert from "node:assert/strict";
import { tick } from "../../core/jobs/schedule.ts";
import { createWorker } from "../../core/jobs/worker.ts";
import { createSchedule } from "../../core/tasks/schedule.ts";
import { listCronRuns } from "../../db/jobs/cron_runs.ts";
import { StatusSchema } from "../../routes/status/schemas.ts";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { openPool } from "../support/database/pools.ts";
import { PROJECT } from "../support/project.ts";
import { until } from "../support/until.ts";

const NOON = Date.UTC(2026, 0, 1, 12);
const MINUTE_MS = 60_000;

interface Process extends AsyncDisposable {
  /** Sends the process the time of a tick, and whether the tick hangs. */
  sendTick(time: number, manner?: "quick" | "hang"): Promise<void>;
  /** The lines that the process has printed so far. */
  printed: string[];
  kill(): Promise<void>;
}

async function startProcess(databaseUrl: string, task: string): Promise<Process> {
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-q", "--no-check", "-P=test"],
      ...["tests/support/jobs/ticking_instance.ts", databaseUrl, task],
    ],
    cwd: PROJECT,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const printed: string[] = [];
  const reading = (async () => {
    for await (const text of process.stdout.pipeThrough(new TextDecoderStream())) {
      printed.push(...text.split("\n").filter(Boolean));
    }
  })();
  const input = process.stdin.getWriter();
  let isKilled = false;
  const instance: Process = {
    printed,
    sendTick: (time, manner = "quick") =>
      input.write(new TextEncoder().encode(`${time} ${manner}\n`)),
    async kill() {
      isKilled = true;
      process.kill("SIGKILL");
      assert.equal((await process.status).signal, "SIGKILL");
      await input.abort().catch(() => {});
      await reading;
    },
    // A process whose tick hangs does not end by itself.
    [Symbol.asyncDispose]: () => isKilled ? Promise.resolve() : instance.kill(),
  };
  await until("the process is ready", () => printed.includes("ready"));
  return instance;
}

function hasBegun(time: number): (process: Process) => boolean {
  return ({ printed }) => printed.includes(`begun ${time}`);
}

/** Sends the same tick to all processes at once; returns the processes that ran it. */
async function tickAll(processes: Process[], time: number): Promise<Process[]> {
  await Promise.all(processes.map((each) => each.sendTick(time)));
  await until(
    "all processes have handled the minute",
    () => processes.every(({ printed }) => printed.includes(`over ${time}`)),
  );
  return processes.filter(hasBegun(time));
}

Deno.test("schedule: exactly one of five processes runs a tick; if it is killed, another one runs the next tick", async () => {
  const databaseUrl = await createDatabase();
  await using resources = new AsyncDisposableStack();
  const database = openPool({ url: databaseUrl, poolSize: 1 });
  resources.defer(() => database.close());
  const lastRun = async () => (await database.query(listCronRuns))[0]!;
  const processes = await Promise.all(
    Array.from({ length: 5 }, async () => resources.use(await startProcess(databaseUrl, "greet"))),
  );
  let minute = NOON;
  for (let count = 0; count < 20; count++, minute += MINUTE_MS) {
    assert.equal((await tickAll(processes, minute)).length, 1);
  }

  // The process that claims this tick is killed; the others do not take the tick over.
  const killedMinute = minute;
  await Promise.all(processes.map((each) => each.sendTick(killedMinute, "hang")));
  await until("a process has begun the tick", () => processes.some(hasBegun(killedMinute)));
  const [killedProcess, ...more] = processes.filter(hasBegun(killedMinute));
  assert.deepEqual(more, []);
  const otherProcesses = processes.filter((each) => each !== killedProcess);
  await until("the others have skipped the tick", () => {
    return otherProcesses.every(({ printed }) => printed.includes(`over ${killedMinute}`));
  });
  await killedProcess!.kill();
  const unfinished = await lastRun();
  assert.deepEqual([unfinished.minute.getTime(), unfinished.finished_at], [killedMinute, null]);

  assert.equal(
    (await tickAll(otherProcesses, killedMinute)).length,
    0,
    "the same tick does not run again",
  );
  assert.equal((await tickAll(otherProcesses, killedMinute + MINUTE_MS)).length, 1);
  const nextRun = await lastRun();
  assert.deepEqual([nextRun.minute.getTime(), nextRun.result], [
    killedMinute + MINUTE_MS,
    String(killedMinute + MINUTE_MS),
  ]);
  assert.ok(nextRun.finished_at);
});

Deno.test("schedule: of five instances of the service, exactly one runs each tick of an entry", async () => {
  const databaseUrl = await createDatabase();
  let now = NOON;
  await using resources = new AsyncDisposableStack();
  const apps = await Promise.all(
    Array.from(
      { length: 5 },
      async () => resources.use(await openApp({ databaseUrl, now: () => now })),
    ),
  );
  const runs: Record<string, number> = {};
  const schedules = apps.map(({ service }) =>
    createSchedule({
      ...service,
      worker: createWorker({ ...service, tasks: {}, maxRunning: 1 }),
      stopping: AbortSignal.any([]),
    })
      .map((
        entry,
      ) => ({
        service,
        entry: {
          ...entry,
          run() {
            runs[entry.name] = (runs[entry.name] ?? 0) + 1;
            return entry.run();
          },
        },
      }))
  );
  for (let minute = 1; minute <= 3; minute++, now += MINUTE_MS) {
    await Promise.all(schedules.flat().map(({ service, entry }) => tick(service, entry)));
    const names = schedules[0]!.map(({ entry }) => entry.name);
    assert.deepEqual(runs, Object.fromEntries(names.map((name) => [name, minute])));
  }
  const [app] = apps;
  const staff = await app!.createKey({ isStaff: true });
  const { schedule } = StatusSchema.parse(await (await app!.as(staff, "/status/")).json());
  for (const { task, status, error } of schedule) {
    assert.deepEqual([status, error], ["succeeded", null], task);
  }
});
