/** `streamEvents`: all open event streams of this instance. */

import { createLimiter } from "../../concurrency/limiter.ts";
import {
  BEFORE_ALL,
  type EventBatch,
  type EventPosition,
  type EventSelector,
  findNewestBefore,
  findPosition,
  type PositionedEvent,
  readEventsAfter,
} from "../../db/event_positions.ts";
import type { Caller } from "../auth/caller.ts";
import type { Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import { createFollower, type FollowerDeps, type FollowerOptions } from "./follower.ts";
import { viewEvent } from "./read.ts";
import { createEventStream, type EventStream } from "./stream.ts";

export interface EventStreamsDeps extends FollowerDeps {
  clock: Clock;
}

export interface EventStreamsOptions extends FollowerOptions {
  heartbeatMs?: number;
}

export interface StreamFilter {
  /** Null: events of all names. */
  names: readonly string[] | null;
  /** Null: events of all resources. */
  resourceId: string | null;
  /** The last event that the reader has received; null: only new events. */
  after: string | null;
}

export interface EventStreams extends AsyncDisposable {
  open(caller: Caller, filter: StreamFilter): Promise<ReadableStream<Uint8Array>>;
  /** Throws if no more streams are opened because the server is shutting down. */
  admit(): void;
  /** The number of open streams. */
  count(): number;
  /** Ends all streams and opens no more. */
  close(): void;
}

/** Proxies and clients close connections on which nothing is sent. */
const HEARTBEAT_MS = 15_000;

/** Streams end after a while so that the reader authenticates again: keys are revoked, tokens expire. */
const LIFETIME_MS = 15 * 60_000;

/** Streams end at different times, so that not all readers reconnect at once. */
const JITTER = 0.1;

/** Limits the load of readers that catch up: queries at a time, and events per query. */
const CONCURRENT_READS = 3;
const PAGE = 50;

export function createEventStreams(
  deps: EventStreamsDeps,
  { heartbeatMs = HEARTBEAT_MS, ...options }: EventStreamsOptions = {},
): EventStreams {
  const { database, clock, log } = deps;
  const follower = createFollower(deps, options);
  const reads = createLimiter(CONCURRENT_READS);
  /** Each stream with the time at which it ends. */
  const streams = new Map<EventStream, number>();
  const frame = createFrames();
  let heartbeats: ReturnType<typeof setInterval> | undefined;
  let isClosed = false;

  async function limited<T>(work: () => Promise<T>): Promise<T> {
    const release = await reads.acquire();
    try {
      return await work();
    } finally {
      release();
    }
  }

  async function read(position: EventPosition, selector: EventSelector): Promise<EventBatch> {
    return await limited(() =>
      database.query(
        (sql) => readEventsAfter(sql, position, selector, PAGE),
        "catch up with events",
      )
    );
  }

  async function find(eventId: string, { userId }: EventSelector): Promise<EventPosition> {
    const position = await limited(() =>
      database.query((sql) => findPosition(sql, eventId, userId), "find last event")
    );
    return position ?? BEFORE_ALL;
  }

  /** If there is no event yet: an id before all events. A reader that continues there gets them all. */
  async function findNewest(now: EventPosition, { userId }: EventSelector): Promise<string> {
    const newest = await limited(() =>
      database.query((sql) => findNewestBefore(sql, now, userId), "find newest event")
    );
    return newest ?? BEFORE_ALL.id;
  }

  function admit(): void {
    if (!isClosed) return;
    throw new ServiceError("unavailable", {
      detail: "The server is shutting down. Reconnect to continue on another instance.",
      isExpected: true,
      headers: { "Retry-After": "2" },
    });
  }

  function sendHeartbeats(): void {
    const now = clock();
    for (const [stream, end] of streams) {
      if (now >= end) stream.end();
      else stream.sendHeartbeat();
    }
  }

  function add(stream: EventStream): void {
    streams.set(stream, clock() + LIFETIME_MS * (1 - JITTER * Math.random()));
    heartbeats ??= setInterval(sendHeartbeats, heartbeatMs);
  }

  function remove(stream: EventStream): void {
    streams.delete(stream);
    if (streams.size > 0) return;
    clearInterval(heartbeats);
    heartbeats = undefined;
  }

  function close(): void {
    isClosed = true;
    for (const stream of streams.keys()) stream.endNow();
  }

  return {
    async open(caller, { after, ...filter }) {
      admit();
      const selector = { ...filter, userId: caller.isStaff ? null : caller.userId };
      const stream = createEventStream({
        selector,
        frame,
        read: (position) => read(position, selector),
        onError: (error) => log.error("event_stream_failed", error),
        onClosed() {
          subscription.unsubscribe();
          remove(stream);
        },
      });
      const subscription = follower.subscribe(stream.push);
      add(stream);
      try {
        const now = await subscription.poll();
        if (after === null) {
          stream.sendStartId(await findNewest(now, selector));
          stream.followFrom(now);
        } else await stream.catchUpFrom(await find(after, selector));
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

/** Encodes each event once, however many streams send it. */
function createFrames(): (event: PositionedEvent) => Uint8Array {
  const encoder = new TextEncoder();
  const frames = new WeakMap<PositionedEvent, Uint8Array>();
  return function frame(event) {
    const known = frames.get(event);
    if (known) return known;
    const { id, name } = event;
    const data = JSON.stringify(viewEvent(event));
    const bytes = encoder.encode(`id: ${id}\nevent: ${name}\ndata: ${data}\n\n`);
    frames.set(event, bytes);
    return bytes;
  };
}
