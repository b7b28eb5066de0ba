/** The database server of a command: the one at `DATABASE_URL`, or the embedded one. */

import { setTimeout as delay } from "node:timers/promises";
import type { Config } from "../core/config/config.ts";
import type { FolderOwner } from "../db/embedded/folder_lock.ts";
import type { EmbeddedServer } from "../db/embedded/server.ts";
import { Failure } from "./terminal.ts";

export interface DatabaseServer extends AsyncDisposable {
  /** Starts the server if it is embedded, and returns its URL. */
  start(onCrash?: (failedRestart?: unknown) => void): Promise<string>;
  /** True if this process did not start the server. */
  isShared: boolean;
}

/** How long to wait until a service that is starting has started its database server. */
const JOIN_TIMEOUT_MS = 30_000;

/** Claims the server for this process; an embedded server has one owner at a time. */
export async function claimServer(config: Config, as: FolderOwner): Promise<DatabaseServer> {
  if (config.databaseUrl !== null) return useRunningServer(config.databaseUrl);
  const { lockFolder, FolderInUse } = await import("../db/embedded/folder_lock.ts");
  const { startServer } = await import("../db/embedded/server.ts");
  const layout = await findLayout(config);
  const lock = await lockFolder(layout.home, as).catch((error) => {
    throw error instanceof FolderInUse ? new Failure(error.message) : error;
  });
  let server: EmbeddedServer | undefined;
  return {
    isShared: false,
    async start(onCrash) {
      server = await startServer(layout, { onCrash }).catch((error) => {
        throw new Failure(error.message);
      });
      return server.url;
    },
    async [Symbol.asyncDispose]() {
      await server?.stop();
      lock[Symbol.dispose]();
    },
  };
}

/** For tools: starts the embedded server, or uses the server of a running service. */
export async function joinServer(config: Config): Promise<DatabaseServer> {
  if (config.databaseUrl !== null) return useRunningServer(config.databaseUrl);
  const { findServer } = await import("../db/embedded/server.ts");
  const layout = await findLayout(config);
  const deadline = Date.now() + JOIN_TIMEOUT_MS;
  while (true) {
    try {
      // Waits for another tool to finish. Its server cannot be used: it stops when that tool ends.
      return await claimServer(config, "tool");
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const url = await findServer(layout);
      if (url) return useRunningServer(url);
      // The service has the lock but no server yet, so it is starting.
      if (Date.now() > deadline) throw error;
      await delay(100);
    }
  }
}

function useRunningServer(url: string): DatabaseServer {
  return {
    isShared: true,
    start: () => Promise.resolve(url),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function findLayout({ dataDir }: Config) {
  const { readLayout } = await import("../db/embedded/layout.ts");
  const layout = await readLayout(dataDir);
  if (layout) return layout;
  throw new Failure(
    `No database is installed in ${dataDir}. If a message above says why, fix that cause. ` +
      "Otherwise run `deno task start`, which installs one. You can also set DATABASE_URL.",
  );
}
