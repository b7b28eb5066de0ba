import assert from "node:assert/strict";
import { join } from "node:path";
import { install } from "../../db/embedded/install.ts";
import { type Layout, layoutIn } from "../../db/embedded/layout.ts";
import { findServer, startServer } from "../../db/embedded/server.ts";
import { freePort } from "../support/free_port.ts";
import { createDataFolder } from "../support/project.ts";
import { preparedFolder } from "../support/service.ts";
import { inTime, until } from "../support/until.ts";

const ignoreOutput = () => {};

async function readServerPid(layout: Layout): Promise<number> {
  const text = await Deno.readTextFile(join(layout.cluster, "postmaster.pid"));
  return Number(text.split("\n")[0]);
}

function isAlive(pid: number): boolean {
  try {
    Deno.kill(pid, "SIGCONT");
    return true;
  } catch {
    return false;
  }
}

Deno.test("embedded server: ends if the service ends before the server has started", async () => {
  await using folder = await preparedFolder();
  const layout = await install(folder.path, ignoreOutput);
  await new Deno.Command(layout.serverScript, {
    args: [String(freePort()), "listen_addresses=127.0.0.1", "unix_socket_directories="],
    cwd: layout.home,
    // The script stops the server when its input ends, and the input ends when the service ends.
    stdin: "null",
    ...layout.runAs,
  }).output();
  const log = await Deno.readTextFile(layout.logFile);
  assert.match(log, /starting PostgreSQL/);
  assert.match(log, /received fast shutdown request/);
  assert.equal(await findServer(layout), null);
});

/** A script instead of PostgreSQL, so that the test can choose the pid. */
const WITH_PID_42 = `#!/bin/sh
printf '42\\n%s\\n1800000001\\n%s\\n\\n\\n\\nready\\n' "$PWD/cluster" "$1" > cluster/postmaster.pid
cat > /dev/null
`;

Deno.test("embedded server: starts even if the new server has the pid of the killed one", async () => {
  await using folder = await createDataFolder();
  const layout = layoutIn(folder.path, null);
  await Deno.mkdir(layout.cluster);
  await Deno.writeTextFile(layout.passwordFile, "secret");
  await Deno.writeTextFile(layout.serverScript, WITH_PID_42, { mode: 0o755 });
  const stale = ["42", layout.cluster, "1800000000", String(freePort()), "", "", "", "ready", ""];
  await Deno.writeTextFile(layout.pidFile, stale.join("\n"));
  const server = await inTime("the server is ready", startServer(layout));
  await server.stop();
});

Deno.test("embedded server: after a crash, restarts are tried until one succeeds", async () => {
  await using folder = await preparedFolder();
  const layout = await install(folder.path, ignoreOutput);
  const program = join(layout.programs, "bin/postgres");
  const reported: (string | undefined)[] = [];
  const failed = Promise.withResolvers<void>();
  const server = await startServer(layout, {
    onCrash(failedRestart) {
      reported.push(failedRestart instanceof Error ? failedRestart.message : undefined);
      if (failedRestart) failed.resolve();
    },
  });
  try {
    await Deno.rename(program, `${program}.away`);
    Deno.kill(await readServerPid(layout), "SIGKILL");
    await inTime("a restart fails", failed.promise);
    await Deno.rename(`${program}.away`, program);
    await until("the server runs", async () => await findServer(layout) === server.url);
    assert.equal(reported[0], undefined);
    assert.match(reported[1] ?? "", /did not start\. See /);
  } finally {
    await server.stop();
  }
  assert.equal(await findServer(layout), null);
});

Deno.test("embedded server: stop returns while the server is frozen", async () => {
  await using folder = await preparedFolder();
  const layout = await install(folder.path, ignoreOutput);
  const server = await startServer(layout);
  const pid = await readServerPid(layout);
  Deno.kill(pid, "SIGSTOP");
  await server.stop();
  // `isAlive` sends SIGCONT, which resumes the server; the script `run_server.sh` then stops it.
  await until("the server has ended", () => !isAlive(pid));
});

Deno.test("embedded server: concurrent installations in one folder create one cluster", async () => {
  await using folder = await createDataFolder();
  const lines: string[] = [];
  const report = (line: string) => lines.push(line);
  const layouts = await Promise.all([1, 2, 3].map(() => install(folder.path, report)));
  assert.deepEqual(layouts[0], layouts[2]);
  assert.deepEqual(lines.filter((line) => line.startsWith("Creating")).length, 1);
});
