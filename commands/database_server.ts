/** The database server a command works with: the integrator's own, or the embedded one. */

import type { Config } from "../core/config.ts";
import { Failure } from "./failure.ts";

export interface DatabaseServer extends AsyncDisposable {
  url: string;
}

/** For the service: an embedded server is started, and this process is the only one that may. */
export async function runServer(config: Config, onCrash: () => void): Promise<DatabaseServer> {
  if (config.databaseUrl !== null) return given(config.databaseUrl);
  const { lockFolder, FolderInUse } = await import("../db/embedded/folder_lock.ts");
  const { startServer } = await import("../db/embedded/server.ts");
  const layout = await findLayout(config);
  let lock: Disposable;
  try {
    lock = await lockFolder(layout.home);
  } catch (error) {
    if (error instanceof FolderInUse) throw new Failure(error.message);
    throw error;
  }
  try {
    const server = await startServer(layout, { onCrash });
    return {
      url: server.url,
      async [Symbol.asyncDispose]() {
        await server.stop();
        lock[Symbol.dispose]();
      },
    };
  } catch (error) {
    lock[Symbol.dispose]();
    throw new Failure((error as Error).message);
  }
}

/** For tools: an embedded server that runs already is joined, else one is started for the while. */
export async function joinServer(config: Config): Promise<DatabaseServer> {
  if (config.databaseUrl !== null) return given(config.databaseUrl);
  const { findServer } = await import("../db/embedded/server.ts");
  const url = await findServer(await findLayout(config));
  return url ? given(url) : await runServer(config, () => {});
}

function given(url: string): DatabaseServer {
  return { url, [Symbol.asyncDispose]: () => Promise.resolve() };
}

async function findLayout({ dataDir }: Config) {
  const { readLayout } = await import("../db/embedded/layout.ts");
  const layout = await readLayout(dataDir);
  if (layout) return layout;
  throw new Failure("The embedded database is not prepared: use `deno task`, or set DATABASE_URL.");
}
