/** Tells of events once they are committed: those who follow them, and those who deliver them. */

import { setTimeout as delay } from "node:timers/promises";
import { context, ROOT_CONTEXT } from "@opentelemetry/api";
import { announce, type RankedJob } from "../../db/announce.ts";
import type { Database } from "../../db/database.ts";
import { JOB_RANKS } from "../../db/jobs.ts";
import type { Clock } from "../clock.ts";
import type { Carrier } from "../jobs/carrier.ts";
import { newJob } from "../jobs/new_job.ts";
import type { Log } from "../log.ts";

/** The task that sends what is due to one endpoint. */
export const DELIVER_WEBHOOKS = "deliver_webhooks";

/** Under load it is told so often, and not for each event. */
const PAUSE_MS = 20;

export interface AnnouncerDeps {
  database: Database;
  carrier: Carrier;
  clock: Clock;
  log: Log;
}

export interface Announcer extends AsyncDisposable {
  /**
   * There are events, and deliveries to these endpoints. Nobody waits for it: should it come to
   * nothing, those who follow look by themselves, and the schedule finds what is to be delivered.
   */
  announce(endpointIds: Iterable<string>): void;
  /** An endpoint is another now; its deliveries may be, too. */
  announceChange(endpointId: string): void;
  /** Who is at it already needs no job to be told that there is more. */
  hear(endpointId: string, hearer: Hearer): Disposable;
}

export interface Hearer {
  onNews(): void;
  onChange(): void;
}

export function createAnnouncer({ database, carrier, clock, log }: AnnouncerDeps): Announcer {
  const hearers = new Map<string, Hearer>();
  let untold: Set<string> | null = null;
  let telling: Promise<void> | null = null;

  async function tell(): Promise<void> {
    while (untold) {
      const now = new Date(clock());
      const jobs = [...untold].map((id) => wakeUp(id, now));
      untold = null;
      try {
        const waiting = await database.query((sql) => announce(sql, jobs), "announce events");
        for (const job of waiting) carrier.carry(job);
      } catch (error) {
        log.error("events_not_announced", error);
      }
      await delay(PAUSE_MS);
    }
    telling = null;
  }

  return {
    announce(endpointIds) {
      untold ??= new Set();
      for (const id of endpointIds) {
        const hearer = hearers.get(id);
        if (hearer) hearer.onNews();
        else untold.add(id);
      }
      // It is told for many at once, and so is part of nobody's trace.
      telling ??= context.with(ROOT_CONTEXT, tell);
    },
    announceChange(endpointId) {
      hearers.get(endpointId)?.onChange();
    },
    hear(endpointId, hearer) {
      hearers.set(endpointId, hearer);
      return { [Symbol.dispose]: () => void hearers.delete(endpointId) };
    },
    async [Symbol.asyncDispose]() {
      await telling;
    },
  };
}

/** Nobody's own: who is told is no business of those whose payment it is. */
function wakeUp(endpointId: string, now: Date): RankedJob {
  const subject = { id: endpointId, user_id: null };
  const job = newJob(DELIVER_WEBHOOKS, subject, {}, { runAt: now, now });
  return { ...job, rank: JOB_RANKS.delivery };
}
