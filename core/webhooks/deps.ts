/** What the verbs of webhook endpoints work with. */

import type { Database } from "../../db/database.ts";
import type { Clock } from "../clock.ts";
import type { Announcer } from "../events/announce.ts";
import type { Carrier } from "../jobs/carrier.ts";
import type { SecretBox } from "../secret_box.ts";
import type { EndpointRules } from "./endpoint_url.ts";
import type { Poster } from "./post.ts";

export interface WebhookDeps {
  database: Database;
  clock: Clock;
  carrier: Carrier;
  announcer: Announcer;
  /** In it the secrets of endpoints are kept. */
  secrets: SecretBox;
  /** Which addresses are taken. */
  webhookRules: EndpointRules;
  poster: Poster;
}
