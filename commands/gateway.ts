/** Opens the clients of the gateway, which is the real one or the embedded sandbox. */

import { join } from "node:path";
import { systemClock } from "../core/time/clock.ts";
import type { Config } from "../core/config/config.ts";
import type { AccountGuard } from "../core/gateway/account.ts";
import { createCircuitBreakers } from "../core/gateway/circuit_breaker.ts";
import { createGatewayClient, type GatewayClient } from "../core/gateway/client.ts";
import { createGatewayClock } from "../core/gateway/gateway_clock.ts";
import { logExchanges } from "../core/gateway/instrumentation.ts";
import { createRateLimitPause } from "../core/gateway/rate_limit.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { explainListenErrors } from "./listen.ts";
import { Failure } from "./terminal.ts";

/** In the data folder: the sandbox's state. */
export const SANDBOX_FILE = "sandbox.sqlite";

/**
 * The sandbox is only reachable from this machine, even if the service listens on all addresses.
 */
export const SANDBOX_HOST = "127.0.0.1";

/** The maximum number of concurrent gateway calls of jobs and of notification checks. */
export const MAX_BACKGROUND_CALLS = 6;

export interface Gateway extends AsyncDisposable {
  client: GatewayClient;
  /** For jobs and checks of notifications: a separate limit, so that they do not delay callers. */
  background: GatewayClient;
  /** Null if this process did not start the sandbox. */
  sandbox: Sandbox | null;
}

export async function openGateway(
  config: Config,
  log: Log,
  account?: AccountGuard,
): Promise<Gateway> {
  const sandbox = await startSandbox(config, log);
  const options = {
    ...config.gateway,
    // If `SANDBOX_PORT` is 0, the port is known only after the sandbox has started.
    ...sandbox && { baseUrl: sandbox.url },
    onExchange: config.logGateway ? logExchanges(log) : undefined,
    breakers: createCircuitBreakers(),
    pause: createRateLimitPause(systemClock),
    gatewayClock: createGatewayClock(),
    account,
  };
  return {
    client: createGatewayClient(options),
    background: createGatewayClient({ ...options, maxInFlight: MAX_BACKGROUND_CALLS }),
    sandbox,
    [Symbol.asyncDispose]: async () => await sandbox?.[Symbol.asyncDispose](),
  };
}

async function startSandbox(config: Config, log: Log): Promise<Sandbox | null> {
  const { sandboxPort: port, dataDir, gateway } = config;
  if (port === null) return null;
  const { StateFileError, startSandbox } = await import("../sandbox/sandbox.ts");
  const start = () =>
    startSandbox({
      hostname: SANDBOX_HOST,
      port,
      path: join(dataDir, SANDBOX_FILE),
      serverKey: gateway.serverKey,
      clientKey: gateway.clientKey ?? undefined,
      onError: (error) => log.error("sandbox_error", error),
    });
  const address = { host: SANDBOX_HOST, port, setting: "SANDBOX_PORT" } as const;
  try {
    return await explainListenErrors(address, start);
  } catch (error) {
    throw error instanceof StateFileError ? new Failure(error.message) : error;
  }
}
