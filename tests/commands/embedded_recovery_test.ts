import assert from "node:assert/strict";
import { join } from "node:path";
import { install } from "../../db/embedded/install.ts";
import { readLayout } from "../../db/embedded/layout.ts";
import { postgresRuns, preparedFolder, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

/** The options that the service would choose for its database server. */
function serverOptions(): string {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return `-c listen_addresses=127.0.0.1 -c unix_socket_directories= -p ${listener.addr.port}`;
}

Deno.test("embedded database: a start replaces a server that was left running", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  const layout = await install(folder.path, () => {});
  // Starts a server without its script, as if the script had been killed together with the service.
  const { success } = await new Deno.Command(join(layout.programs, "bin/pg_ctl"), {
    args: ["start", "-w", "-D", layout.cluster, "-l", layout.logFile, "-o", serverOptions()],
    cwd: layout.home,
    stdout: "null",
    ...layout.runAs,
  }).output();
  assert.ok(success);
  await using service = await startService({ settings });
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
});

Deno.test("embedded database: a start ignores a stale pid file if another process now has that pid", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  const { pidFile, cluster, runAs } = await install(folder.path, () => {});
  // A process of the same user that is not a database server; it must not be killed.
  await using otherProcess = new Deno.Command("sleep", { args: ["3600"], ...runAs }).spawn();
  const lines = [otherProcess.pid, cluster, "1794700000", "1", "", "127.0.0.1", "0 0", "ready   "];
  await Deno.writeTextFile(pidFile, lines.join("\n") + "\n");
  if (runAs) await Deno.chown(pidFile, runAs.uid, runAs.gid);
  await using service = await startService({ settings });
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
  otherProcess.kill("SIGTERM");
  assert.equal((await otherProcess.status).signal, "SIGTERM", "the start did not kill it");
});

Deno.test("embedded database: a start completes a data folder whose creation was interrupted", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  const { home } = await install(folder.path, () => {});
  // Creates the state after a kill during the copy of the programs and the creation of the cluster.
  for (const part of ["cluster", "programs"]) {
    await Deno.rename(join(home, part), join(home, `${part}.new-1`));
  }
  await Deno.truncate(join(folder.path, "postgres.json"), 3);
  await using service = await startService({ settings });
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
  for await (const { name } of Deno.readDir(home)) assert.doesNotMatch(name, /\.new/);
});

Deno.test("embedded database: a crashed server is restarted; service and server stop cleanly when both get a signal at the same time", async () => {
  await using folder = await preparedFolder();
  await using service = await startService({
    settings: { DATA_DIR: folder.path },
    hasOwnDeadline: true,
  });
  const { pidFile } = (await readLayout(folder.path))!;
  const readServerPid = async () => parseInt(await Deno.readTextFile(pidFile));
  Deno.kill(await readServerPid(), "SIGKILL");
  await until("the crash is noticed", () => service.output().includes("database_crashed"));
  await until(
    "the service is ready again",
    async () => (await service.get("/health/ready/")).status === 200,
  );
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);

  Deno.kill(await readServerPid(), "SIGINT");
  Deno.kill(await service.pid(), "SIGTERM");
  assert.equal((await service.ended).code, 0, service.output());
  await until("the server has stopped", async () => !await postgresRuns(folder.path));
});
