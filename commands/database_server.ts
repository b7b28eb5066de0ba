/** The database server a command works with: the integrator's own, or the embedded one. */

import type { Config } from "../core/config.ts";
import type { EmbeddedServer } from "../db/embedded/server.ts";
import { Failure } from "./failure.ts";

export interface DatabaseServer extends AsyncDisposable {
  /** Starts it where it is ours to start, and returns its address. */
  start(onCrash?: () => void): Promise<string>;
}

/** Takes the server for this process alone; an embedded one has one owner at a time. */
export async function claimServer(config: Config): Promise<DatabaseServer> {
  if (config.databaseUrl !== null) return given(config.databaseUrl);
  const { lockFolder, FolderInUse } = await import("../db/embedded/folder_lock.ts");
  const { startServer } = await import("../db/embedded/server.ts");
  const layout = await findLayout(config);
  const lock = await lockFolder(layout.home).catch((error) => {
    throw error instanceof FolderInUse ? new Failure(error.message) : error;
  });
  let server: EmbeddedServer | undefined;
  return {
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

/** For tools: joins the embedded server that runs already, if one does. */
export async function joinServer(config: Config): Promise<DatabaseServer> {
  if (config.databaseUrl !== null) return given(config.databaseUrl);
  const { findServer } = await import("../db/embedded/server.ts");
  const url = await findServer(await findLayout(config));
  return url ? given(url) : await claimServer(config);
}

function given(url: string): DatabaseServer {
  return { start: () => Promise.resolve(url), [Symbol.asyncDispose]: () => Promise.resolve() };
}

async function findLayout({ dataDir }: Config) {
  const { readLayout } = await import("../db/embedded/layout.ts");
  const layout = await readLayout(dataDir);
  if (layout) return layout;
  throw new Failure("The embedded database is not prepared: use `deno task`, or set DATABASE_URL.");
}
