/** Publishes events in tests. */

import { publishWithDeliveries } from "../../../core/events/position_publisher.ts";
import { createEvents } from "../../../core/handlers/events.ts";
import type { Database } from "../../../db/connection/database.ts";
import { findUnpublished } from "../../../db/events/publication.ts";
import { until } from "../until.ts";
import type { EventHandlers } from "../../../core/service.ts";

/** Publishes all committed events without taking the publisher's lock; returns their number. */
export async function publishAll(
  database: Database,
  limit?: number,
  events: EventHandlers = createEvents(),
): Promise<number> {
  for (let total = 0;;) {
    const { count, hasMore } = await database.transaction((sql) =>
      publishWithDeliveries(sql, events, limit)
    );
    total += count;
    if (!hasMore) return total;
  }
}

/** Waits until every committed event has a position. */
export async function untilPublished({ database }: { database: Database }): Promise<void> {
  await until(
    "all events are published",
    async () => (await database.query(findUnpublished)).count === 0,
  );
}
