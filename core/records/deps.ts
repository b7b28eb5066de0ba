/** What the verbs of payments, invoices and subscriptions work with. */

import type { Database } from "../../db/database.ts";
import type { Clock } from "../clock.ts";
import type { GatewayClient } from "../gateway/client.ts";
import type { Log } from "../log.ts";
import type { EventPublisher, EventSubscribers, JobQueue } from "../outbox.ts";

export interface RecordDeps {
  database: Database;
  gateway: GatewayClient;
  clock: Clock;
  log: Log;
  jobQueue: JobQueue;
  /** Who listens to what happens. */
  events: EventSubscribers;
  /** Tells those outside of it. */
  publisher: EventPublisher;
}
