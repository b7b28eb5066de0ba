/** What the verbs of webhook endpoints work with. */

import type { Database } from "../../db/database.ts";
import type { Clock } from "../clock.ts";
import type { EventPublisher } from "../events/publisher.ts";
import type { JobQueue } from "../jobs/queue.ts";
import type { SecretBox } from "../secret_box.ts";
import type { EndpointRules } from "./endpoint_url.ts";
import type { Poster } from "./post.ts";

export interface WebhookDeps {
  database: Database;
  clock: Clock;
  jobQueue: JobQueue;
  publisher: EventPublisher;
  /** In it the secrets of endpoints are kept. */
  secrets: SecretBox;
  /** Which addresses are taken. */
  webhookRules: EndpointRules;
  poster: Poster;
}
