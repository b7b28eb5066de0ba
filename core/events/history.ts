/**
 * Recognizes the id of an event that this database never had. After a restore from a backup,
 * readers still have the ids of events that the backup does not contain.
 */

import { CREATION_SLACK_MS } from "../../db/events/events.ts";
import { ServiceError } from "../errors.ts";
import { firstIdAt } from "../ids.ts";
import type { Service } from "../service.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * Call it for an id that is not in the database. Returns if the event may have been deleted after
 * the retention period: the reader then continues with the oldest remaining event. The id has the
 * time of its creation, and a younger event is never deleted.
 */
export function refuseOtherHistory(
  { clock, keep }: Pick<Service, "clock" | "keep">,
  eventId: string,
): void {
  const deletedUntil = clock() - keep.events * DAY_MS + CREATION_SLACK_MS;
  if (eventId.toLowerCase() < firstIdAt(new Date(Math.max(0, deletedUntil)))) return;
  throw new ServiceError("unknown_event", {
    detail: `Event ${eventId} does not exist here, so it is unknown which events follow it. The ` +
      "database may have been restored from a backup that does not contain it. Read the current " +
      "state of your payments, and then continue without this id.",
  });
}
