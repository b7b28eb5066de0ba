/** `serve_endpoints`: finds what is to be delivered and nobody was told of. */

import type { Database } from "../../db/database.ts";
import { listEndpointsToServe } from "../../db/webhook_endpoints.ts";
import type { Clock } from "../clock.ts";
import type { EventPublisher } from "../events/publisher.ts";

export interface ServeEndpointsDeps {
  database: Database;
  clock: Clock;
  publisher: EventPublisher;
}

/** How many endpoints there were. */
export async function serveEndpoints(
  { database, clock, publisher }: ServeEndpointsDeps,
): Promise<number> {
  const now = new Date(clock());
  const ids = await database.query(
    (sql) => listEndpointsToServe(sql, now),
    "list endpoints to serve",
  );
  if (ids.length > 0) publisher.publish(ids);
  return ids.length;
}
