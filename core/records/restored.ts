/** What changes after the database was restored from a backup (`commands/after_restore.ts`). */

import type { Service } from "../service.ts";
import type { GatewayRecord } from "./record.ts";

/** The numbers of the events after a restore begin at a multiple of this. */
export const SEQUENCE_STEP = 1_000;

/**
 * The `event_count` to continue with. The first write of a record after a restore skips at least
 * 1,000 numbers: subscribers may have seen them in events that the backup does not contain.
 */
export function eventCountOf(
  { restoredAt }: Pick<Service, "restoredAt">,
  { event_count, updated_at }: Pick<GatewayRecord, "event_count" | "updated_at">,
): number {
  if (restoredAt === null || updated_at >= restoredAt) return event_count;
  return (Math.floor(event_count / SEQUENCE_STEP) + 2) * SEQUENCE_STEP;
}
