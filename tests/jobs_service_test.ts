import assert from "node:assert/strict";
import { join } from "node:path";
import { findServer } from "../db/embedded/server.ts";
import { readLayout } from "../db/embedded/layout.ts";
import { createDatabase } from "./support/database.ts";
import { openInstance } from "./support/jobs.ts";
import { dataFolder, runTask, startService } from "./support/service.ts";
import { until } from "./support/until.ts";

/** The schedule goes by whole minutes, and a machine can be busy. */
const SCHEDULE_PATIENCE_MS = 90_000;

Deno.test("with DATABASE_URL a service begins with what waits, and its schedule goes on", async () => {
  const databaseUrl = await createDatabase();
  await using database = openInstance({ databaseUrl });
  const early = await database.insert({ task: "no_such_task" });
  await using service = await startService({
    settings: { DATABASE_URL: databaseUrl, GATEWAY_SERVER_KEY: "Mid-server-x", HOST: "127.0.0.1" },
  });
  const isOver = (id: string) => async () => (await database.find(id)).status === "failed";
  await until("the job is over", isOver(early));
  assert.match((await database.find(early)).error!, /There is no task/);

  // Nobody carries this one: it is the sweep's.
  const late = await database.insert({ task: "no_such_task" });
  await until("the sweep comes by", isOver(late), SCHEDULE_PATIENCE_MS);
  service.signal("SIGTERM");
  assert.equal((await service.ended).code, 0, service.output());
});

Deno.test("embedded, a job goes through the queue in the data folder, after a kill -9 too", async () => {
  await using folder = await dataFolder();
  const settings = { DATA_DIR: folder.path };
  const ids: string[] = [];
  {
    await using service = await startService({ settings });
    const url = await findServer((await readLayout(folder.path))!);
    await using database = openInstance({ databaseUrl: url! });
    for (let i = 0; i < 3; i++) ids.push(await database.insert({ task: "no_such_task" }));
    Deno.kill(await service.pid(), "SIGKILL");
    await service.ended;
  }
  assert.ok((await Deno.stat(join(folder.path, "jobs.kv"))).size > 0);
  await using _service = await startService({ settings });
  const url = await findServer((await readLayout(folder.path))!);
  await using database = openInstance({ databaseUrl: url! });
  for (const id of ids) {
    await until("the job is over", async () => (await database.find(id)).status === "failed");
  }
});

Deno.test("a queue that cannot be used is told in one line, exit code 1", async () => {
  await using folder = await dataFolder();
  const settings = { DATA_DIR: folder.path };
  assert.equal((await runTask(["migrate"], settings)).code, 0);
  await Deno.writeTextFile(join(folder.path, "jobs.kv"), "no queue at all");
  const { code, stdout, stderr } = await runTask(["start"], {
    ...settings,
    PORT: "0",
    SANDBOX_PORT: "0",
  });
  assert.equal(code, 1);
  assert.equal(stdout, "");
  assert.match(stderr, /^· Starting PostgreSQL\nThe queue in \S+ cannot be used \([^\n]+\n$/);
});
