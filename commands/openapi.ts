/** `deno task openapi`: writes the OpenAPI document to `openapi/openapi.json`. */

import { createAuditRecorder } from "../core/audit/recorder.ts";
import { type Service, settingsOf } from "../core/service.ts";
import { systemClock } from "../core/time/clock.ts";
import { createClockCheck } from "../core/time/clock_check.ts";
import type { Config } from "../core/config/config.ts";
import { createDerivedIds } from "../core/secrets/derived_ids.ts";
import { createLinks } from "../core/secrets/links.ts";
import { createEventWaker } from "../core/events/waker.ts";
import { createEventStreams } from "../core/events/streams.ts";
import { createGatewayClient } from "../core/gateway/client.ts";
import { openPostgresQueue } from "../core/jobs/postgres_queue.ts";
import { createKeyReleases } from "../db/records/key_releases.ts";
import { createLoad } from "../core/status/load.ts";
import { createLog } from "../core/telemetry/log.ts";
import { unmeasured } from "../core/time/service_clock.ts";
import { createEvents } from "../core/handlers/events.ts";
import { createPoster } from "../core/posting/post.ts";
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
  const clock = systemClock;
  const service: Service = {
    ...settingsOf(config),
    logo: null,
    database,
    databaseUrl,
    thisInstance: NO_LOCK,
    keyReleases: createKeyReleases({ database }),
    gateway,
    background: gateway,
    clock,
    clockCheck: createClockCheck({ serviceClock: unmeasured(clock), gateway }),
    log,
    jobQueue,
    links: createLinks(new Uint8Array(1), () => null),
    deriveId: createDerivedIds(new Uint8Array(1)),
    restoredAt: null,
    events: createEvents(),
    waker: createEventWaker({ database, jobQueue, clock, log }),
    poster: createPoster({ allowPrivate: false }),
  };
  const app = createApp({
    ...service,
    config,
    migrations: [],
    streams: createEventStreams(service),
    audit: createAuditRecorder(service),
    load: createLoad(log),
    sharedUsage: null,
    isDraining: () => false,
    developmentKey: null,
    developmentStaffKey: null,
  });
  const path = new URL("../openapi/openapi.json", import.meta.url);
  await Deno.writeTextFile(path, JSON.stringify(app.document(), null, 2) + "\n");
}
