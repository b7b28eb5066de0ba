/** What comes after a change is written: its jobs find their way, and its events are told of. */

import type { Beside, Written } from "../../db/beside_record.ts";
import type { RecordDeps } from "./deps.ts";

export function handOn(
  { carrier, announcer }: Pick<RecordDeps, "carrier" | "announcer">,
  { events }: Pick<Beside, "events">,
  { jobs, endpoints }: Written,
): void {
  for (const job of jobs) carrier.carry(job);
  if (events.length > 0) announcer.announce(endpoints);
}
