/** The database server a command works with: the integrator's own, or the embedded one. */

import { setTimeout as delay } from "node:timers/promises";
import type { Config } from "../core/config/config.ts";
import type { Holder } from "../db/embedded/folder_lock.ts";
import type { EmbeddedServer } from "../db/embedded/server.ts";
import { Failure } from "./failure.ts";

export interface DatabaseServer extends AsyncDisposable {
  /** Starts it where it is ours to start, and returns its address. */
  start(onCrash?: (failedRestart?: unknown) => void): Promise<string>;
  /** Others use it, too: it is no part of this process. */
  isShared: boolean;
}

/** A service that is starting has its server up within this. */
const JOIN_PATIENCE_MS = 30_000;

/** Takes the server for this process alone; an embedded one has one owner at a time. */
export async function claimServer(config: Config, as: Holder): Promise<DatabaseServer> {
  if (config.databaseUrl !== null) return given(config.databaseUrl);
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

/** For tools: one's own server for the moment, or that of a service which has the folder. */
export async function joinServer(config: Config): Promise<DatabaseServer> {
  if (config.databaseUrl !== null) return given(config.databaseUrl);
  const { findServer } = await import("../db/embedded/server.ts");
  const layout = await findLayout(config);
  const deadline = Date.now() + JOIN_PATIENCE_MS;
  while (true) {
    try {
      // Never another tool's server, which would go with that tool: its turn is waited for here.
      return await claimServer(config, "tool");
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const url = await findServer(layout);
      if (url) return given(url);
      // The service has the folder but no server yet: it is just starting.
      if (Date.now() > deadline) throw error;
      await delay(100);
    }
  }
}

function given(url: string): DatabaseServer {
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
    `There is no database in ${dataDir} (see above): start with \`deno task start\`, or set DATABASE_URL.`,
  );
}
