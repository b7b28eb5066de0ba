import assert from "node:assert/strict";
import { join } from "node:path";
import { readLayout } from "../../db/embedded/layout.ts";
import {
  dataFolder,
  postgresHome,
  postgresRuns,
  runTask,
  startService,
} from "../support/service.ts";
import { until } from "../support/until.ts";

/** Settings of a server on a port of its own, as the service would choose them. */
function orphanOptions(): string {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return `-c listen_addresses=127.0.0.1 -c unix_socket_directories= -p ${listener.addr.port}`;
}

Deno.test("after kill -9 the database ends too, and the next start just works", async () => {
  await using folder = await dataFolder();
  const settings = { DATA_DIR: folder.path };
  let keys;
  {
    await using service = await startService({ settings });
    keys = service.keys;
    Deno.kill(await service.pid(), "SIGKILL");
    await service.ended;
  }
  await using service = await startService({ settings });
  assert.deepEqual(service.keys, keys);
  assert.equal((await service.get("/me/", keys.user)).status, 200);
});

Deno.test("a database server left running is taken over", async () => {
  await using folder = await dataFolder();
  const settings = { DATA_DIR: folder.path };
  assert.equal((await runTask(["migrate"], settings)).code, 0);
  const layout = await readLayout(folder.path);
  // One that nothing ties to a service: as if its leash had been killed, too.
  const { success } = await new Deno.Command(join(layout!.programs, "bin/pg_ctl"), {
    args: ["start", "-w", "-D", layout!.cluster, "-l", layout!.logFile, "-o", orphanOptions()],
    cwd: layout!.home,
    stdout: "null",
    ...layout!.runAs,
  }).output();
  assert.ok(success);
  await using service = await startService({ settings });
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
});

Deno.test("a stale pid file, of a process that is somebody else's now, is no obstacle", async () => {
  await using folder = await dataFolder();
  const settings = { DATA_DIR: folder.path };
  {
    await using service = await startService({ settings });
    service.signal("SIGTERM");
    await service.ended;
  }
  const { pidFile, cluster, runAs } = (await readLayout(folder.path))!;
  // Alive, of the same user, no database server, and not to be harmed.
  await using bystander = new Deno.Command("sleep", { args: ["60"], ...runAs }).spawn();
  const lines = [bystander.pid, cluster, "1794700000", "1", "", "127.0.0.1", "0 0", "ready   "];
  await Deno.writeTextFile(pidFile, lines.join("\n") + "\n");
  if (runAs) await Deno.chown(pidFile, runAs.uid, runAs.gid);
  await using service = await startService({ settings });
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
  bystander.kill("SIGTERM");
  assert.equal((await bystander.status).signal, "SIGTERM", "it lived until now");
});

Deno.test("a data folder made half-way is made whole", async () => {
  await using folder = await dataFolder();
  const settings = { DATA_DIR: folder.path };
  {
    await using service = await startService({ settings });
    service.signal("SIGTERM");
    await service.ended;
  }
  const home = postgresHome(folder.path);
  // As if it had been killed while it copied programs and created the cluster.
  for (const part of ["cluster", "programs"]) {
    await Deno.rename(join(home, part), join(home, `${part}.new-1`));
  }
  await Deno.truncate(join(folder.path, "postgres.json"), 3);
  await using service = await startService({ settings });
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
  for await (const { name } of Deno.readDir(home)) assert.doesNotMatch(name, /\.new/);
});

Deno.test("what ends everything at once, as supervisors do, ends it in good order", async () => {
  await using folder = await dataFolder();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  const pidFile = join(postgresHome(folder.path), "cluster/postmaster.pid");
  const postmaster = parseInt(await Deno.readTextFile(pidFile));
  Deno.kill(postmaster, "SIGINT");
  Deno.kill(await service.pid(), "SIGTERM");
  assert.equal((await service.ended).code, 0, service.output());
  await until("the server is gone", async () => !await postgresRuns(folder.path));
});

Deno.test("a database server that dies is started again", async () => {
  await using folder = await dataFolder();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  const pidFile = join(postgresHome(folder.path), "cluster/postmaster.pid");
  const postmaster = parseInt(await Deno.readTextFile(pidFile));
  Deno.kill(postmaster, "SIGKILL");
  await until("its death is noticed", () => service.output().includes("database_crashed"));
  await until("it is back", async () => (await service.get("/health/ready/")).status === 200);
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
});
