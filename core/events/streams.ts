/** `streamEvents`: what happens, told to everybody who follows it here, each from where they were. */

import {
  BEFORE_ALL,
  type EventChoice,
  type EventReading,
  findNewestBefore,
  findPlace,
  type Place,
  type PlacedEvent,
  readEventsAfter,
} from "../../db/event_positions.ts";
import type { Caller } from "../auth/caller.ts";
import type { Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import { createInFlight } from "../gateway/in_flight.ts";
import { createFollower, type FollowerDeps, type FollowerOptions } from "./follow.ts";
import { createEventStream, type EventStream } from "./stream.ts";
import { viewEvent } from "./views.ts";

export interface EventStreamsDeps extends FollowerDeps {
  clock: Clock;
}

export interface EventStreamsOptions extends FollowerOptions {
  beatMs?: number;
}

export interface StreamFilter {
  /** Null: of whichever name. */
  names: readonly string[] | null;
  /** Null: of whichever resource. */
  resourceId: string | null;
  /** The last one that was heard; null: what happens from now on. */
  after: string | null;
}

export interface EventStreams extends AsyncDisposable {
  open(caller: Caller, filter: StreamFilter): Promise<ReadableStream<Uint8Array>>;
  /** Throws where none is opened any more. */
  admit(): void;
  /** How many are open. */
  count(): number;
  /** Ends all of them, and opens no more. */
  close(): void;
}

/** So that nobody on the way takes silence for the end. */
const BEAT_MS = 15_000;

/** Who was let in is asked again after a while: a key may be revoked, and a token expires. */
const LIFE_MS = 15 * 60_000;

/** Not all at once. */
const JITTER = 0.1;

/** So many read what they have missed at a time, and so much: others need the database, too. */
const READERS = 3;
const PAGE = 50;

export function createEventStreams(
  deps: EventStreamsDeps,
  { beatMs = BEAT_MS, ...options }: EventStreamsOptions = {},
): EventStreams {
  const { database, clock, log } = deps;
  const follower = createFollower(deps, options);
  const readers = createInFlight(READERS);
  /** And when each is to end. */
  const streams = new Map<EventStream, number>();
  const frame = frames();
  let beating: ReturnType<typeof setInterval> | undefined;
  let isClosed = false;

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const leave = await readers.enter(new AbortController().signal);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  async function read(place: Place, choice: EventChoice): Promise<EventReading> {
    return await inTurn(() =>
      database.query((sql) => readEventsAfter(sql, place, choice, PAGE), "catch up with events")
    );
  }

  async function find(eventId: string, { userId }: EventChoice): Promise<Place> {
    const place = await inTurn(() =>
      database.query((sql) => findPlace(sql, eventId, userId), "find last event")
    );
    return place ?? BEFORE_ALL;
  }

  /** Where there is none, an id that is none: whoever goes on after it hears of everything. */
  async function findNewest(now: Place, { userId }: EventChoice): Promise<string> {
    const newest = await inTurn(() =>
      database.query((sql) => findNewestBefore(sql, now, userId), "find newest event")
    );
    return newest ?? BEFORE_ALL.id;
  }

  function admit(): void {
    if (!isClosed) return;
    throw new ServiceError("unavailable", {
      detail: "The service is about to end.",
      headers: { "Retry-After": "2" },
    });
  }

  function beat(): void {
    const now = clock();
    for (const [stream, end] of streams) {
      if (now >= end) stream.end();
      else stream.beat();
    }
  }

  function add(stream: EventStream): void {
    streams.set(stream, clock() + LIFE_MS * (1 - JITTER * Math.random()));
    beating ??= setInterval(beat, beatMs);
  }

  function remove(stream: EventStream): void {
    streams.delete(stream);
    if (streams.size > 0) return;
    clearInterval(beating);
    beating = undefined;
  }

  function close(): void {
    isClosed = true;
    for (const stream of streams.keys()) stream.endNow();
  }

  return {
    async open(caller, { after, ...filter }) {
      admit();
      const choice = { ...filter, userId: caller.isStaff ? null : caller.userId };
      const stream = createEventStream({
        choice,
        frame,
        read: (place) => read(place, choice),
        onError: (error) => log.error("event_stream_failed", error),
        onGone() {
          seat.leave();
          remove(stream);
        },
      });
      const seat = follower.join(stream.hear);
      add(stream);
      try {
        const now = await seat.look();
        if (after === null) {
          stream.beginAfter(await findNewest(now, choice));
          stream.goOnFrom(now);
        } else await stream.catchUpFrom(await find(after, choice));
      } catch (error) {
        stream.endNow();
        throw error;
      }
      admit();
      return stream.readable;
    },
    admit,
    count: () => streams.size,
    close,
    async [Symbol.asyncDispose]() {
      close();
      await follower[Symbol.asyncDispose]();
    },
  };
}

/** Made once for each event, however many hear of it. */
function frames(): (event: PlacedEvent) => Uint8Array {
  const encoder = new TextEncoder();
  const made = new WeakMap<PlacedEvent, Uint8Array>();
  return function frame(event) {
    const known = made.get(event);
    if (known) return known;
    const { id, name } = event;
    const data = JSON.stringify(viewEvent(event));
    const bytes = encoder.encode(`id: ${id}\nevent: ${name}\ndata: ${data}\n\n`);
    made.set(event, bytes);
    return bytes;
  };
}
