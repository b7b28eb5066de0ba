/** The emulated gateway beside the service: in the embedded default there is no other. */

import { join } from "node:path";
import type { Config } from "../core/config.ts";
import type { Log } from "../core/log.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { Failure } from "./failure.ts";
import { explainListenErrors } from "./listen.ts";

/** In the data folder: its state, and the lock beside it. */
export const SANDBOX_FILES = ["sandbox.kv", "sandbox.kv.lock"];

/** Only this machine reaches it, whatever the service listens on. */
export const SANDBOX_HOST = "127.0.0.1";

export async function startGatewaySandbox(config: Config, log: Log): Promise<Sandbox | null> {
  const { sandboxPort: port, dataDir, gateway } = config;
  if (port === null) return null;
  const { JournalError, startSandbox } = await import("../sandbox/sandbox.ts");
  const start = () =>
    startSandbox({
      hostname: SANDBOX_HOST,
      port,
      path: join(dataDir, SANDBOX_FILES[0]!),
      serverKey: gateway.serverKey,
      clientKey: gateway.clientKey ?? undefined,
      onMistake: (error) => log.error("sandbox_mistake", error),
    });
  const place = { host: SANDBOX_HOST, port, setting: "SANDBOX_PORT" } as const;
  try {
    return await explainListenErrors(place, start);
  } catch (error) {
    throw error instanceof JournalError ? new Failure(error.message) : error;
  }
}
