/** Follows events as they are settled: each is read once, for all of this instance who want to hear. */

import type { Database } from "../../db/database.ts";
import {
  type EventChoice,
  findSettledPlace,
  type Place,
  type PlacedEvent,
  readEventsAfter,
} from "../../db/event_positions.ts";
import { EVENTS_CHANNEL } from "../../db/events.ts";
import { listen } from "../../db/listen.ts";
import { waitAtMost } from "../../db/within.ts";
import type { Log } from "../log.ts";

export interface FollowerDeps {
  database: Database;
  /** Of the same database: who listens needs a connection of its own. */
  databaseUrl: string;
  log: Log;
}

export interface FollowerOptions {
  /** How often to look without being told. */
  lookMs?: number;
}

/** Hears of every event that is settled from now on, in their order. */
export type Hear = (event: PlacedEvent) => void;

export interface Seat {
  /** Looks once more. All events up to the place it resolves with were heard, or were there before. */
  look(): Promise<Place>;
  leave(): void;
}

export interface Follower extends AsyncDisposable {
  /** It follows only while somebody hears it. */
  join(hear: Hear): Seat;
}

const LOOK_MS = 5_000;

/** Between two looks, however much is told: under load one look finds many events. */
const PAUSE_MS = 20;

/** However long something that is committed is not settled. */
const LONGEST_PAUSE_MS = 300;

/** How soon to look again for a database that is away. */
const RETRY_MS = 500;

const PAGE = 200;

/** The log's words for a database that is away, and for one that tells nothing. */
const NOT_FOLLOWED = "events_not_followed";
const NOT_HEARD = "events_not_heard";

const EVERYTHING: EventChoice = { names: null, resourceId: null, userId: null };

export function createFollower(deps: FollowerDeps, options: FollowerOptions = {}): Follower {
  const ending = new Set<Promise<void>>();
  let following: Following | null = null;

  function stop(): void {
    const ended = following!.stop().finally(() => ending.delete(ended));
    ending.add(ended);
    following = null;
  }

  return {
    join(hear) {
      // Those of one that has been stopped are its own: it may still find something.
      const { hearers, look } = following ??= follow(deps, options);
      hearers.add(hear);
      return {
        look,
        leave() {
          if (hearers.delete(hear) && hearers.size === 0) stop();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(ending);
    },
  };
}

interface Following {
  hearers: Set<Hear>;
  look(): Promise<Place>;
  stop(): Promise<void>;
}

function follow(
  { database, databaseUrl, log }: FollowerDeps,
  { lookMs = LOOK_MS }: FollowerOptions,
): Following {
  const hearers = new Set<Hear>();
  /** Those who asked for a look that has not begun. */
  let asking: PromiseWithResolvers<Place>[] = [];
  let news = Promise.withResolvers<void>();
  let place: Place | null = null;
  let unsettledMs = 0;
  let isOver = false;
  /** What is wrong just now. */
  const troubles = new Set<string>();

  /** For how long nothing new is expected, unless it is told. */
  async function lookOnce(): Promise<number> {
    if (place === null) {
      place = await database.query(findSettledPlace, "find settled events");
      return 0;
    }
    while (!isOver) {
      const from: Place = place;
      const { events, end, isAll, isMoreComing } = await database.query(
        (sql) => readEventsAfter(sql, from, EVERYTHING, PAGE),
        "follow events",
      );
      // It may be before `from`: a replica that took over can lack what was there last.
      place = end;
      for (const event of events) {
        for (const hear of hearers) hear(event);
      }
      if (events.length > 0) unsettledMs = 0;
      if (isAll) return isMoreComing ? settlingMs() : lookMs;
    }
    return 0;
  }

  /** What is committed waits for transactions that began before it, most of which are short. */
  function settlingMs(): number {
    const ms = unsettledMs;
    unsettledMs = Math.min(unsettledMs * 2 + PAUSE_MS, LONGEST_PAUSE_MS);
    return ms;
  }

  async function keepLooking(): Promise<void> {
    while (!isOver) {
      news = Promise.withResolvers();
      const askers = asking;
      asking = [];
      try {
        const gatewayPauseMs = await lookOnce();
        for (const { resolve } of askers) resolve(place!);
        troubles.delete(NOT_FOLLOWED);
        await waitAtMost(PAUSE_MS, over.promise);
        await waitAtMost(gatewayPauseMs, news.promise);
      } catch (error) {
        for (const { reject } of askers) reject(error);
        note(NOT_FOLLOWED, error);
        await waitAtMost(RETRY_MS, over.promise);
      }
    }
    for (const { reject } of asking) reject(new Error("Nobody follows events any more"));
  }

  /** Once, for as long as it lasts. */
  function note(trouble: string, error: unknown): void {
    if (!isOver && !troubles.has(trouble)) log.error(trouble, error);
    troubles.add(trouble);
  }

  const over = Promise.withResolvers<void>();
  const listening = listen({
    url: databaseUrl,
    channel: EVENTS_CHANNEL,
    onNotify() {
      troubles.delete(NOT_HEARD);
      news.resolve();
    },
    onError: (error) => note(NOT_HEARD, error),
  });
  const looking = keepLooking();
  return {
    hearers,
    look() {
      const asked = Promise.withResolvers<Place>();
      asking.push(asked);
      news.resolve();
      return asked.promise;
    },
    async stop() {
      isOver = true;
      over.resolve();
      news.resolve();
      await listening[Symbol.asyncDispose]();
      await looking;
    },
  };
}
