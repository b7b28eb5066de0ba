import assert from "node:assert/strict";
import { join } from "node:path";
import { dataFolder, postgresHome, startService } from "./support/service.ts";

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
  const leash = join(postgresHome(folder.path), "leash");
  let keys;
  {
    await using service = await startService({ settings });
    keys = service.keys;
    // Kill what ties the server to the service first, so that it really stays.
    await new Deno.Command("pkill", { args: ["-9", "-f", `^/bin/sh ${leash}`] }).output();
    Deno.kill(await service.pid(), "SIGKILL");
    await service.ended;
  }
  await using service = await startService({ settings });
  assert.equal((await service.get("/me/", keys.user)).status, 200);
});

Deno.test("a stale pid file, of a process that is somebody else's now, is no obstacle", async () => {
  await using folder = await dataFolder();
  const settings = { DATA_DIR: folder.path };
  {
    await using service = await startService({ settings });
    service.signal("SIGTERM");
    await service.ended;
  }
  const cluster = join(postgresHome(folder.path), "cluster");
  // Our own number: alive, not a database server, and not to be harmed.
  const lines = [Deno.pid, cluster, "1794700000", "1", "", "127.0.0.1", "0 0", "ready   "];
  const pidFile = join(cluster, "postmaster.pid");
  await Deno.writeTextFile(pidFile, lines.join("\n") + "\n");
  const { uid, gid } = await Deno.stat(cluster);
  if (Deno.uid() === 0) await Deno.chown(pidFile, uid, gid);
  await using service = await startService({ settings });
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
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
  for (const part of ["cluster", await findPrograms(home)]) {
    await Deno.rename(join(home, part), join(home, `${part}.new-1`));
  }
  await Deno.truncate(join(folder.path, "postgres.json"), 3);
  await using service = await startService({ settings });
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
  for await (const { name } of Deno.readDir(home)) assert.doesNotMatch(name, /\.new/);
});

async function findPrograms(home: string): Promise<string> {
  for await (const { name } of Deno.readDir(home)) if (name.startsWith("postgresql-")) return name;
  throw new Error("no programs");
}

Deno.test("a database server that dies is started again", async () => {
  await using folder = await dataFolder();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  const pidFile = join(postgresHome(folder.path), "cluster/postmaster.pid");
  const postmaster = Number((await Deno.readTextFile(pidFile)).split("\n")[0]);
  Deno.kill(postmaster, "SIGKILL");
  while (!service.output().includes("database_died")) {
    await service.get("/health/live/");
  }
  while ((await service.get("/health/ready/")).status === 503);
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
});
