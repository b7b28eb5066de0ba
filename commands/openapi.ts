/** `deno task openapi`: writes the OpenAPI document to `openapi/openapi.json`. */

import { createAuditRecorder } from "../core/audit/recorder.ts";
import { systemClock } from "../core/time/clock.ts";
import { createClockCheck } from "../core/time/clock_check.ts";
import type { Config } from "../core/config/config.ts";
import { createEventWaker } from "../core/events/waker.ts";
import { createEventStreams } from "../core/events/streams.ts";
import { createGatewayClient } from "../core/gateway/client.ts";
import { openPostgresQueue } from "../core/jobs/postgres_queue.ts";
import { createKeyReleases } from "../core/idempotency/key_releases.ts";
import { createLoad } from "../core/status/load.ts";
import { createLog } from "../core/telemetry/log.ts";
import { unmeasured } from "../core/time/service_clock.ts";
import { createEvents } from "../core/handlers/events.ts";
import { createPoster } from "../core/webhooks/post.ts";
import { openDatabase } from "../db/connection/database.ts";
import { NO_LOCK } from "../db/connection/instance_lock.ts";
import { createApp } from "../app.ts";

export async function run(readConfig: () => Config): Promise<void> {
  const config = readConfig();
  // The clients below connect when they are first used. Building the document does not use them.
  const databaseUrl = "postgres://127.0.0.1/none";
  const log = createLog(() => {});
  const gateway = createGatewayClient(config.gateway);
  const database = openDatabase({ url: databaseUrl, poolSize: 1 });
  const jobQueue = openPostgresQueue({ database, listenUrl: null, clock: systemClock, log });
  const app = createApp({
    config,
    database,
    gateway,
    background: gateway,
    events: createEvents(),
    streams: createEventStreams({ ...config, database, databaseUrl, log, clock: systemClock }),
    jobQueue,
    poster: createPoster({ allowPrivate: false }),
    waker: createEventWaker({ database, jobQueue, log, clock: systemClock }),
    thisInstance: NO_LOCK,
    keyReleases: createKeyReleases({ database }),
    migrations: [],
    log,
    audit: createAuditRecorder({ database, log, clock: systemClock }),
    clock: systemClock,
    clockCheck: createClockCheck({ serviceClock: unmeasured(systemClock), gateway }),
    load: createLoad(log),
    isDraining: () => false,
    developmentKey: null,
    developmentStaffKey: null,
  });
  const path = new URL("../openapi/openapi.json", import.meta.url);
  await Deno.writeTextFile(path, JSON.stringify(app.document(), null, 2) + "\n");
}
