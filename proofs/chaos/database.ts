/** The databases of a run, and how each is disturbed. */

import { setTimeout as delay } from "node:timers/promises";
import { install } from "../../db/embedded/install.ts";
import type { Layout } from "../../db/embedded/layout.ts";
import { startServer } from "../../db/embedded/server.ts";
import type { Random } from "../../sandbox/engine/random.ts";
import { FAILOVER_KINDS, startPair } from "../../tests/support/database/pair.ts";
import { preparedFolder } from "../../tests/support/service.ts";

export interface ChaosDatabase extends AsyncDisposable {
  url: string;
  /**
   * Kills the server, or makes another one the primary, and calls `onDown` when it begins. Returns
   * what it did when it may be done again.
   */
  disturb(random: Random, onDown: () => void): Promise<string>;
}

const MOST_PAUSE_MS = 10_000;

/** An embedded PostgreSQL, which is killed and then recovers. */
export async function openSingleDatabase(): Promise<ChaosDatabase> {
  await using resources = new AsyncDisposableStack();
  const folder = resources.use(await preparedFolder());
  const layout = await install(folder.path, () => {});
  const server = await startServer(layout);
  resources.defer(() => server.stop());
  const owned = resources.move();
  return {
    url: server.url,
    async disturb(_random, onDown) {
      const killed = await readPid(layout);
      onDown();
      await killServer(killed);
      // The supervisor starts the server again.
      await untilItChanges(layout, killed);
      return "kill";
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Kills all processes of the server at once, as a failure of its machine would. */
async function killServer(postmaster: number): Promise<void> {
  // A stopped postmaster starts no further process.
  Deno.kill(postmaster, "SIGSTOP");
  for (const pid of [...await childrenOf(postmaster), postmaster]) {
    try {
      Deno.kill(pid, "SIGKILL");
    } catch (error) {
      // A connection has just ended.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}

async function childrenOf(parent: number): Promise<number[]> {
  const { stdout } = await new Deno.Command("ps", { args: ["-A", "-o", "pid=,ppid="] }).output();
  const rows = new TextDecoder().decode(stdout).trim().split("\n");
  return rows.map((row) => row.trim().split(/\s+/).map(Number))
    .filter(([, ppid]) => ppid === parent).map(([pid]) => pid!);
}

async function readPid({ pidFile }: Layout): Promise<number> {
  return parseInt(await Deno.readTextFile(pidFile));
}

async function untilItChanges({ pidFile }: Layout, killed: number): Promise<void> {
  for (;;) {
    const lines = (await Deno.readTextFile(pidFile).catch(() => "")).split("\n");
    if (Number(lines[0]) !== killed && lines[7]?.trim() === "ready") return;
    await delay(20);
  }
}

/** Two servers under Patroni. The primary is killed, paused, or changes places with the standby. */
export async function openPairDatabase(): Promise<ChaosDatabase> {
  const pair = await startPair();
  return {
    url: pair.url,
    async disturb(random, onDown) {
      const how = FAILOVER_KINDS[random.below(FAILOVER_KINDS.length)]!;
      const former = await pair.primary();
      // `failOver` waits for this, too; until then, the primary serves requests.
      await pair.untilBothStream();
      onDown();
      await pair.failOver(how);
      // A paused primary continues after the promotion, and must not be written to.
      if (how === "pause") await delay(random.below(MOST_PAUSE_MS));
      if (how === "pause") await former.resume();
      if (how === "kill") former.start();
      await pair.untilBothStream();
      return how;
    },
    [Symbol.asyncDispose]: () => pair[Symbol.asyncDispose](),
  };
}
