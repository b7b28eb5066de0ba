/**
 * How the service starts on Deno Deploy. The platform reports a failed deployment, or 502, if no
 * server listens. So the service listens at once: requests wait until it is ready, and without
 * valid settings they get a 503.
 */

import { waitAtMost } from "../concurrency/deadlines.ts";
import { systemClock } from "../core/time/clock.ts";
import type { Config } from "../core/config/config.ts";
import type { ConfigError } from "../core/config/problems.ts";
import { DEFAULT_PORT } from "../core/config/settings.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { Fetch } from "../http/middleware/wrap_requests.ts";
import { createUnreadyApp, isProbe, type UnreadyReason } from "../routes/status/unready.ts";
import { addressOf } from "./listen.ts";

/**
 * The platform kills an instance 5 seconds after its signal. Requests and jobs that are not
 * finished in `graceMs` end with the process: that closes its database sessions, so another
 * instance takes over the requests' idempotency keys and the jobs at once.
 */
export const DEPLOY_STOP = { graceMs: 3_000, closeMs: 1_000 };

/** How long a request waits for the start. Longer than the wait for the database at one URL. */
const START_MS = 40_000;

/** How long the responses to waiting requests may take when the start has failed. */
const RESPOND_MS = 1_000;

const STARTING: UnreadyReason = {
  readiness: "The service is starting.",
  detail: "The service is starting. Retry later.",
  checks: { start: "running" },
};

const FAILED: UnreadyReason = {
  readiness: "The service could not start. The log says why (start_failed).",
  detail: "The service could not start. Retry later.",
  checks: { start: "failed" },
};

export interface EarlyServer {
  http: Deno.HttpServer<Deno.NetAddr>;
  /** The service is ready: passes waiting and later requests to the app. */
  open(app: Fetch): void;
  /** The start failed: responds to the waiting requests, and stops listening. */
  fail(): Promise<void>;
}

/** Listens before the service is ready. */
export function listenEarly({ host, port }: Pick<Config, "host" | "port">, log: Log): EarlyServer {
  const decided = Promise.withResolvers<void>();
  let app: Fetch | null = null;
  let reason = STARTING;
  const unready = createUnreadyApp(() => reason, { log, clock: systemClock });
  const http = Deno.serve({ hostname: host, port, onListen: () => {} }, (request, connection) => {
    if (app) return app(request, connection);
    return isProbe(request) ? unready(request, connection) : wait(request, connection);
  });

  log.info("listening", { url: addressOf(http.addr) });

  async function wait(...args: Parameters<Fetch>): Promise<Response> {
    await waitAtMost(START_MS, decided.promise);
    return await (app ?? unready)(...args);
  }

  return {
    http,
    open(ready) {
      app = ready;
      decided.resolve();
    },
    async fail() {
      reason = FAILED;
      decided.resolve();
      await waitAtMost(RESPOND_MS, http.shutdown());
    },
  };
}

/** Responds 503 until the instance is stopped. A change of settings starts a new deployment. */
export async function serveWithoutSettings(
  error: ConfigError,
  log: Log,
  stopped: Promise<void>,
): Promise<void> {
  log.error("settings_wrong", error);
  const list = error.problems.map(({ name, problem }) => `${name} ${problem}`).join(". ");
  const reason: UnreadyReason = {
    readiness:
      `Settings are missing or wrong. ${list}. Set them in the app's environment variables.`,
    detail: "The service does not work, because settings are missing or wrong. " +
      "GET /health/ready/ lists them.",
    checks: { settings: "wrong" },
  };
  const app = createUnreadyApp(() => reason, { log, clock: systemClock });
  const options = { hostname: "0.0.0.0", port: DEFAULT_PORT, onListen: () => {} };
  const http = Deno.serve(options, (request, connection) => app(request, connection));
  log.info("started_without_settings", { url: addressOf(http.addr) });
  await stopped;
  await waitAtMost(DEPLOY_STOP.graceMs, http.shutdown());
}
