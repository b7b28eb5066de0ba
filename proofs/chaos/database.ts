/** The databases of a run, and how each is disturbed. */

import { setTimeout as delay } from "node:timers/promises";
import { install } from "../../db/embedded/install.ts";
import { startServer } from "../../db/embedded/server.ts";
import type { Random } from "../../sandbox/engine/random.ts";
import { FAILOVER_KINDS, startPair } from "../../tests/support/database/pair.ts";
import { preparedFolder } from "../../tests/support/service.ts";

export interface ChaosDatabase extends AsyncDisposable {
  url: string;
  /** Kills the server, or makes another one the primary. Resolves when it may be done again. */
  disturb(random: Random): Promise<void>;
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
    async disturb() {
      const [pid] = (await Deno.readTextFile(layout.pidFile)).split("\n");
      Deno.kill(Number(pid), "SIGKILL");
      // The supervisor starts the server again.
      await untilItChanges(layout.pidFile, pid!);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function untilItChanges(pidFile: string, killed: string): Promise<void> {
  for (;;) {
    const lines = (await Deno.readTextFile(pidFile).catch(() => "")).split("\n");
    if (lines[0] !== killed && lines[7]?.trim() === "ready") return;
    await delay(20);
  }
}

/** Two servers under Patroni. The primary is killed, paused, or changes places with the standby. */
export async function openPairDatabase(): Promise<ChaosDatabase> {
  const pair = await startPair();
  return {
    url: pair.url,
    async disturb(random) {
      const how = FAILOVER_KINDS[random.below(FAILOVER_KINDS.length)]!;
      const former = await pair.primary();
      await pair.failOver(how);
      // A paused primary continues after the promotion, and must not be written to.
      if (how === "pause") await delay(random.below(MOST_PAUSE_MS));
      if (how === "pause") await former.resume();
      if (how === "kill") former.start();
      await pair.untilBothStream();
    },
    [Symbol.asyncDispose]: () => pair[Symbol.asyncDispose](),
  };
}
