/**
 * Reads each event as soon as it is published, which means that it has a position in the order of
 * all events. An instance reads each event once and calls all callbacks with it.
 */

import { pause, waitAtMost } from "../../concurrency/deadlines.ts";
import {
  type EventPosition,
  type EventSelector,
  findLastPosition,
  type PositionedEvent,
  readEventsAfter,
} from "../../db/events/positions.ts";
import { PUBLISHED_CHANNEL } from "../../db/events/events.ts";
import { listen } from "../../db/connection/listen.ts";
import type { Service } from "../service.ts";

type FollowedService = Pick<Service, "database" | "databaseUrl" | "log">;

export interface FollowerOptions {
  /** How often to read if no signal arrives. */
  pollMs?: number;
}

/** Called with every event that gets a position after `follow`, in order of position. */
export type OnEvent = (event: PositionedEvent) => void;

export interface Following {
  /**
   * Reads once more. Every event up to the returned position was passed to `onEvent`, or is older
   * than the call of `follow`.
   */
  poll(): Promise<EventPosition>;
  stop(): void;
}

export interface Follower extends AsyncDisposable {
  /** The follower reads only while its events are followed. */
  follow(onEvent: OnEvent): Following;
}

const POLL_MS = 5_000;

/** The shortest pause between two reads: under load one read finds many events. */
const PAUSE_MS = 20;

/** The pause before the next read while the database is unavailable. */
const RETRY_MS = 500;

const PAGE = 200;

/** Name of a log event: reading events fails. */
const READ_FAILED = "event_follower_failed";

/** Name of a log event: listening fails, so new events are found by polling only. */
const LISTEN_FAILED = "event_notifications_failed";

const ALL_EVENTS: EventSelector = { names: null, resourceId: null, userId: null };

export function createFollower(service: FollowedService, options: FollowerOptions = {}): Follower {
  const stopping = new Set<Promise<void>>();
  let reader: Reader | null = null;

  function stopReader(): void {
    const stopped = reader!.stop().finally(() => stopping.delete(stopped));
    stopping.add(stopped);
    reader = null;
  }

  return {
    follow(onEvent) {
      // Each reader has its own callbacks: a reader that was stopped may still be reading.
      const { callbacks, poll } = reader ??= startReader(service, options);
      callbacks.add(onEvent);
      return {
        poll,
        stop() {
          if (callbacks.delete(onEvent) && callbacks.size === 0) stopReader();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(stopping);
    },
  };
}

interface Reader {
  callbacks: Set<OnEvent>;
  poll(): Promise<EventPosition>;
  stop(): Promise<void>;
}

interface ReaderState {
  service: FollowedService;
  pollMs: number;
  callbacks: Set<OnEvent>;
  position: EventPosition | null;
  /** Calls of `poll` that wait for the next read. */
  waitingPolls: PromiseWithResolvers<EventPosition>[];
  wakeUp: PromiseWithResolvers<void>;
  stopping: AbortSignal;
  /** Names of the errors that were logged and have not ended yet. */
  currentErrors: Set<string>;
}

function startReader(service: FollowedService, { pollMs = POLL_MS }: FollowerOptions): Reader {
  const stop = new AbortController();
  const reader: ReaderState = {
    service,
    pollMs,
    callbacks: new Set(),
    position: null,
    waitingPolls: [],
    wakeUp: Promise.withResolvers(),
    stopping: stop.signal,
    currentErrors: new Set(),
  };
  const listening = listen({
    url: service.databaseUrl,
    name: "payment-gateway events",
    channel: PUBLISHED_CHANNEL,
    onSignal() {
      reader.currentErrors.delete(LISTEN_FAILED);
      reader.wakeUp.resolve();
    },
    onError: (error) => logOnce(reader, LISTEN_FAILED, error),
  });
  const reading = keepReading(reader);
  return {
    callbacks: reader.callbacks,
    poll() {
      const polled = Promise.withResolvers<EventPosition>();
      reader.waitingPolls.push(polled);
      reader.wakeUp.resolve();
      return polled.promise;
    },
    async stop() {
      stop.abort();
      reader.wakeUp.resolve();
      await listening[Symbol.asyncDispose]();
      await reading;
    },
  };
}

async function keepReading(reader: ReaderState): Promise<void> {
  const { stopping, currentErrors } = reader;
  while (!stopping.aborted) {
    reader.wakeUp = Promise.withResolvers();
    const polls = reader.waitingPolls;
    reader.waitingPolls = [];
    try {
      const pauseMs = await readPublished(reader);
      for (const { resolve } of polls) resolve(reader.position!);
      currentErrors.delete(READ_FAILED);
      await pause(PAUSE_MS, [stopping]);
      await waitAtMost(pauseMs, reader.wakeUp.promise);
    } catch (error) {
      for (const { reject } of polls) reject(error);
      logOnce(reader, READ_FAILED, error);
      await pause(RETRY_MS, [stopping]);
    }
  }
  for (const { reject } of reader.waitingPolls) reject(new Error("The event follower was stopped"));
}

/**
 * The first call finds the newest position; each later call reads the events published since then.
 * Returns how long to wait before the next read if no signal arrives.
 */
async function readPublished(reader: ReaderState): Promise<number> {
  const { database } = reader.service;
  if (reader.position === null) {
    reader.position = await database.query(findLastPosition, "find last position");
    return 0;
  }
  while (!reader.stopping.aborted) {
    const from: EventPosition = reader.position;
    const { events, end, isLast } = await database.query(
      (sql) => readEventsAfter(sql, from, ALL_EVENTS, PAGE),
      "follow events",
    );
    // `end` may be before `from`: after a failover the replica can lack the newest events.
    reader.position = end;
    for (const event of events) {
      for (const onEvent of reader.callbacks) onEvent(event);
    }
    if (isLast) return reader.pollMs;
  }
  return 0;
}

/** Logs an error when it starts, not again while it lasts. */
function logOnce(reader: ReaderState, name: string, error: unknown): void {
  const { service, stopping, currentErrors } = reader;
  if (!stopping.aborted && !currentErrors.has(name)) service.log.error(name, error);
  currentErrors.add(name);
}
