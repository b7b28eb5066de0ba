/** Assigns positions to committed events, on one instance at a time, and notifies followers. */

import { publishBatch } from "../../db/event_publication.ts";
import { COMMITTED_CHANNEL } from "../../db/events.ts";
import { runInSoleSession } from "../../db/sole_session.ts";
import type { Log } from "../log.ts";

export interface PositionPublisherDeps {
  /** The publisher needs a connection of its own. */
  databaseUrl: string;
  log: Log;
}

/** Id of the advisory lock. Its bytes are "events" in ASCII. */
const LOCK = 0x6576656e7473n;

/** How often to look for events without a notification: an instance may crash before it notifies. */
const POLL_MS = 1_000;

/** The shortest pause between two batches: under load one batch has many events. */
const PAUSE_MS = 10;

/** Log event: positions cannot be assigned. */
const PUBLISH_FAILED = "event_publisher_failed";

/** Every instance calls this. The instance that gets the lock assigns positions until it ends. */
export function startPositionPublisher(
  { databaseUrl, log }: PositionPublisherDeps,
): AsyncDisposable {
  let isFailing = false;
  return runInSoleSession({
    url: databaseUrl,
    name: "payment-gateway publisher",
    lock: LOCK,
    channel: COMMITTED_CHANNEL,
    pauseMs: PAUSE_MS,
    pollMs: POLL_MS,
    work: async (sql) => (await publishBatch(sql)).hasMore,
    // Logged when it starts, not again while it lasts.
    onError(error) {
      if (!isFailing) log.error(PUBLISH_FAILED, error);
      isFailing = true;
    },
    onSuccess: () => isFailing = false,
  });
}
