import assert from "node:assert/strict";
import { tick } from "../../core/jobs/schedule.ts";
import { createSchedule } from "../../core/schedule.ts";
import { listCronRuns } from "../../db/cron_runs.ts";
import { openDatabase } from "../../db/database.ts";
import { StatusSchema } from "../../routes/status/schemas.ts";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { PROJECT } from "../support/project.ts";
import { until } from "../support/until.ts";

const NOON = Date.UTC(2026, 0, 1, 12);
const MINUTE_MS = 60_000;

interface Process extends AsyncDisposable {
  /** Sends it the time of a tick, and whether the tick hangs. */
  tell(time: number, manner?: "quick" | "hang"): Promise<void>;
  /** The lines it has printed so far. */
  printed: string[];
  kill(): Promise<void>;
}

async function startProcess(databaseUrl: string, task: string): Promise<Process> {
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-q", "--no-lock", "--no-check", "-P=test"],
      ...["tests/support/jobs/ticking_instance.ts", databaseUrl, task],
    ],
    cwd: PROJECT,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const printed: string[] = [];
  const listening = (async () => {
    for await (const text of process.stdout.pipeThrough(new TextDecoderStream())) {
      printed.push(...text.split("\n").filter(Boolean));
    }
  })();
  const orders = process.stdin.getWriter();
  let isKilled = false;
  const instance: Process = {
    printed,
    tell: (time, manner = "quick") => orders.write(new TextEncoder().encode(`${time} ${manner}\n`)),
    async kill() {
      isKilled = true;
      process.kill("SIGKILL");
      assert.equal((await process.status).signal, "SIGKILL");
      await orders.abort().catch(() => {});
      await listening;
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

/** Sends a minute to all processes at the same time; returns those that ran the tick. */
async function pass(processes: Process[], time: number): Promise<Process[]> {
  await Promise.all(processes.map((each) => each.tell(time)));
  await until(
    "all have handled the minute",
    () => processes.every(({ printed }) => printed.includes(`over ${time}`)),
  );
  return processes.filter(hasBegun(time));
}

Deno.test("schedule: of five processes one runs each tick; after it is killed another runs the next tick", async () => {
  const databaseUrl = await createDatabase();
  await using resources = new AsyncDisposableStack();
  const database = openDatabase({ url: databaseUrl, poolSize: 1 });
  resources.defer(() => database.close());
  const lastRun = async () => (await database.query(listCronRuns))[0]!;
  const processes = await Promise.all(
    Array.from({ length: 5 }, async () => resources.use(await startProcess(databaseUrl, "greet"))),
  );
  let minute = NOON;
  for (let count = 0; count < 20; count++, minute += MINUTE_MS) {
    assert.equal((await pass(processes, minute)).length, 1);
  }

  // The process that claims this tick is killed; the others do not take the tick over.
  const died = minute;
  await Promise.all(processes.map((each) => each.tell(died, "hang")));
  await until("a process has begun the tick", () => processes.some(hasBegun(died)));
  const [victim, ...more] = processes.filter(hasBegun(died));
  assert.deepEqual(more, []);
  const others = processes.filter((each) => each !== victim);
  await until("the others have skipped the tick", () => {
    return others.every(({ printed }) => printed.includes(`over ${died}`));
  });
  await victim!.kill();
  const unfinished = await lastRun();
  assert.deepEqual([unfinished.minute.getTime(), unfinished.finished_at], [died, null]);

  assert.equal((await pass(others, died)).length, 0, "the same tick does not run again");
  assert.equal((await pass(others, died + MINUTE_MS)).length, 1);
  const next = await lastRun();
  assert.deepEqual([next.minute.getTime(), next.result], [
    died + MINUTE_MS,
    String(died + MINUTE_MS),
  ]);
  assert.ok(next.finished_at);
});

Deno.test("schedule: five instances of the service run each entry once a minute", async () => {
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
  const schedules = apps.map(({ deps }) =>
    createSchedule({ ...deps, runJob: () => Promise.resolve() }).map((entry) => ({
      deps,
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
    await Promise.all(schedules.flat().map(({ deps, entry }) => tick(deps, entry)));
    const names = schedules[0]!.map(({ entry }) => entry.name);
    assert.deepEqual(runs, Object.fromEntries(names.map((name) => [name, minute])));
  }
  const [first] = apps;
  const staff = await first!.createKey({ isStaff: true });
  const { schedule } = StatusSchema.parse(await (await first!.as(staff, "/status/")).json());
  for (const { task, status, error } of schedule) {
    assert.deepEqual([status, error], ["succeeded", null], task);
  }
});
