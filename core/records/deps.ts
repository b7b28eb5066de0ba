/** What the verbs of payments, invoices and subscriptions work with. */

import type { Database } from "../../db/database.ts";
import type { Clock } from "../clock.ts";
import type { EventPublisher } from "../events/publisher.ts";
import type { Events } from "../events/hub.ts";
import type { GatewayClient } from "../gateway/client.ts";
import type { JobQueue } from "../jobs/queue.ts";
import type { Log } from "../log.ts";

export interface RecordDeps {
  database: Database;
  gateway: GatewayClient;
  clock: Clock;
  log: Log;
  jobQueue: JobQueue;
  /** Who listens to what happens. */
  events: Events;
  /** Tells those outside of it. */
  publisher: EventPublisher;
}
