/** Starts the service by `deno task start`, with the given database and gateway. */

import { type Program, startProgram } from "./program.ts";

/** Differs from the default key of the sandbox, which is public. */
export const SERVER_KEY = "SB-Mid-server-bench";

export async function startService(
  log: string,
  settings: {
    DATABASE_URL: string;
    DATABASE_DIRECT_URL?: string;
    GATEWAY_BASE_URL: string;
    BOOTSTRAP_STAFF_KEY: string;
    WEBHOOK_ALLOW_PRIVATE?: string;
    /** By default there is practically no limit. */
    RATE_LIMIT_PER_SECOND?: string;
    RATE_LIMIT_BURST?: string;
    SHARED_LIMITS?: string;
  },
): Promise<Program> {
  return await startProgram(log, ["task", "start"], {
    HOST: "127.0.0.1",
    PORT: "0",
    GATEWAY_SERVER_KEY: SERVER_KEY,
    RATE_LIMIT_PER_SECOND: "1000000",
    RATE_LIMIT_BURST: "1000000",
    DRAIN_SECONDS: "0",
    ...settings,
  });
}
