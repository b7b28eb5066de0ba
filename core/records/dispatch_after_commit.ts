/** What comes after a change is written: its jobs find their way, and its events are told of. */

import type { SideEffects, WriteResult } from "../../db/side_effects.ts";
import type { RecordDeps } from "./deps.ts";

export function dispatchAfterCommit(
  { jobQueue, publisher }: Pick<RecordDeps, "jobQueue" | "publisher">,
  { events }: Pick<SideEffects, "events">,
  { jobs, endpoints }: WriteResult,
): void {
  for (const job of jobs) jobQueue.enqueue(job);
  if (events.length > 0) publisher.publish(endpoints);
}
