/** `createEventStreams`: opens event streams, and manages all open streams of this instance. */

import { setTimeout as sleep } from "node:timers/promises";
import { NIL } from "uuid";
import { createLimiter, type Limiter } from "../../concurrency/limiter.ts";
import { DatabaseUnavailable, type Sql } from "../../db/connection/database.ts";
import {
  BEFORE_ALL,
  type EventBatch,
  type EventPosition,
  type EventSelector,
  findNewestUpTo,
  findPosition,
  type PositionedEvent,
  readEventsAfter,
} from "../../db/events/positions.ts";
import { type Caller, canReadAll } from "../auth/caller.ts";
import { findEnded, hasExpired } from "../auth/ended_credentials.ts";
import { ServiceError } from "../errors.ts";
import type { Service } from "../service.ts";
import { createFollower, type Follower, type FollowerOptions } from "./follower.ts";
import { refuseOtherHistory } from "./history.ts";
import { viewEvent } from "./read.ts";
import { createEventStream, type EventStream } from "./stream.ts";
import type { StreamSlots } from "./stream_slots.ts";
import { createEventWatches, type EventWatch } from "./watches.ts";

/** What the streams use of the service. */
type StreamedService = Pick<Service, "database" | "databaseUrl" | "clock" | "keep" | "log">;

export interface EventStreamsOptions extends FollowerOptions {
  heartbeatMs?: number;
  keyCheckMs?: number;
  limits?: StreamLimits;
  /** The streams of all instances; null: each instance counts its own. */
  slots?: StreamSlots | null;
}

export interface StreamFilter {
  /** Null: events of all names. */
  names: readonly string[] | null;
  /** Null: events of all resources. */
  resourceId: string | null;
  /** The id of the last event that the reader has received; null: only new events. */
  after: string | null;
}

export interface EventStreams extends AsyncDisposable {
  open(caller: Caller, filter: StreamFilter): Promise<ReadableStream<Uint8Array>>;
  /** For an open page of a checkout or payment, which reads the record itself. */
  watch(recordId: string): Promise<EventWatch>;
  /** Throws if the server is shutting down, because it opens no new streams then. */
  admit(): void;
  /** The number of open streams. */
  count(): number;
  /** Ends all streams and watches, and opens no more. */
  close(): void;
}

/** Proxies and clients close connections on which nothing is sent. */
const HEARTBEAT_MS = 15_000;

/** A stream ends after this time, so that its reader reconnects and authenticates again. */
const LIFETIME_MS = 15 * 60_000;

/** Streams end at different times, so that not all readers reconnect at once. */
const JITTER = 0.1;

/** Limits the load of readers that catch up: queries at a time, and events per query. */
const CONCURRENT_READS = 3;
const PAGE = 50;

/**
 * A revoked key must lose its streams within 5 s, and so must a console session that has ended. A
 * stream can be opened up to 2 s after the revocation, because valid keys are cached that long.
 */
const KEY_CHECK_MS = 3_000;

interface OpenStream {
  caller: Caller;
  endsAt: number;
  /** Its place among the streams of all instances; null: only this instance counts it. */
  slot: string | null;
}

/** How long `open` waits for the position of the reader's last event, and how often it looks. */
const PUBLISH_TIMEOUT_MS = 10_000;
const PUBLISH_CHECK_MS = 100;

interface StreamsState {
  service: StreamedService;
  options: Required<Omit<EventStreamsOptions, keyof FollowerOptions>>;
  follower: Follower;
  /** The reads of readers that catch up. */
  reads: Limiter;
  streams: Map<EventStream, OpenStream>;
  frame(event: PositionedEvent): Uint8Array;
  heartbeats: ReturnType<typeof setInterval> | undefined;
  keyChecks: ReturnType<typeof setInterval> | undefined;
  keyCheck: Promise<void> | null;
  isClosed: boolean;
}

export function createEventStreams(
  service: StreamedService,
  options: EventStreamsOptions = {},
): EventStreams {
  const { heartbeatMs = HEARTBEAT_MS, keyCheckMs = KEY_CHECK_MS } = options;
  const { limits = DEFAULT_LIMITS, slots = null, ...followerOptions } = options;
  const follower = createFollower(service, followerOptions);
  const watches = createEventWatches(follower);
  const state: StreamsState = {
    service,
    options: { heartbeatMs, keyCheckMs, limits, slots },
    follower,
    reads: createLimiter(CONCURRENT_READS),
    streams: new Map(),
    frame: createFrames(),
    heartbeats: undefined,
    keyChecks: undefined,
    keyCheck: null,
    isClosed: false,
  };
  function close(): void {
    state.isClosed = true;
    for (const stream of state.streams.keys()) stream.endNow("the service is stopping");
    watches.stopAll();
  }
  return {
    open: (caller, filter) => open(state, caller, filter),
    watch(recordId) {
      admit(state);
      return watches.open(recordId);
    },
    admit: () => admit(state),
    count: () => state.streams.size,
    close,
    async [Symbol.asyncDispose]() {
      close();
      await state.keyCheck;
      await state.follower[Symbol.asyncDispose]();
    },
  };
}

function admit({ isClosed }: StreamsState): void {
  if (!isClosed) return;
  throw new ServiceError("unavailable", {
    detail: "The server is shutting down. Reconnect to continue on another instance.",
    isExpected: true,
    headers: { "Retry-After": "2" },
  });
}

async function open(
  state: StreamsState,
  caller: Caller,
  { after, ...filter }: StreamFilter,
): Promise<ReadableStream<Uint8Array>> {
  const { service, options, follower, streams, frame } = state;
  admit(state);
  const { limits, slots } = options;
  requireRoom(caller, [...streams.values()], limits);
  const slot = slots && await takeSlot(state, slots, caller);
  // Others may have been opened meanwhile.
  if (slots && !slot) requireRoom(caller, [...streams.values()], limits);
  admit(state);
  const selector = { ...filter, userId: canReadAll(caller) ? null : caller.userId };
  const stream = createEventStream({
    selector,
    frame,
    read: (position) => read(state, position, selector),
    onError: (error) => service.log.error("event_stream_failed", error),
    onClosed() {
      following.stop();
      remove(state, stream);
    },
  });
  const following = follower.follow(stream.push);
  add(state, stream, caller, slot);
  try {
    const now = await following.poll();
    if (after === null) {
      stream.sendStartId(await findNewest(state, now, selector));
      stream.followFrom(now);
    } else await stream.catchUpFrom(await find(state, after, selector));
  } catch (error) {
    stream.endNow("it could not be opened");
    throw error;
  }
  admit(state);
  return stream.readable;
}

/** A place among the streams of all instances. Null: only the limits of this instance apply. */
async function takeSlot(
  state: StreamsState,
  slots: StreamSlots,
  caller: Caller,
): Promise<string | null> {
  // It waits for other instances, and must not take the connections of charges meanwhile.
  const release = await state.reads.acquire();
  const taken = await slots.take(caller.userId).finally(release);
  if (!taken) return null;
  if (taken.id === null) throw noRoom(taken.own, state.options.limits);
  if (state.isClosed) slots.release(taken.id);
  return taken.id;
}

function add(
  state: StreamsState,
  stream: EventStream,
  caller: Caller,
  slot: string | null,
): void {
  const { service, options, streams } = state;
  const endsAt = service.clock() + LIFETIME_MS * (1 - JITTER * Math.random());
  streams.set(stream, { caller, endsAt, slot });
  state.heartbeats ??= setInterval(() => sendHeartbeats(state), options.heartbeatMs);
  state.keyChecks ??= setInterval(() => checkCredentials(state), options.keyCheckMs);
}

function remove(state: StreamsState, stream: EventStream): void {
  const slot = state.streams.get(stream)?.slot;
  if (slot) state.options.slots!.release(slot);
  state.streams.delete(stream);
  if (state.streams.size > 0) return;
  clearInterval(state.heartbeats);
  clearInterval(state.keyChecks);
  state.heartbeats = state.keyChecks = undefined;
}

async function read(
  state: StreamsState,
  position: EventPosition,
  selector: EventSelector,
): Promise<EventBatch> {
  return await query(
    state,
    (sql) => readEventsAfter(sql, position, selector, PAGE),
    "catch up with events",
  );
}

async function find(
  state: StreamsState,
  eventId: string,
  { userId }: EventSelector,
): Promise<EventPosition> {
  const deadline = performance.now() + PUBLISH_TIMEOUT_MS;
  while (!state.isClosed && performance.now() < deadline) {
    const position = await query(
      state,
      (sql) => findPosition(sql, eventId, userId),
      "find last event",
    );
    if (position === null) {
      refuseOtherHistory(state.service, eventId);
      return BEFORE_ALL;
    }
    if (position !== "unpublished") return position;
    await sleep(PUBLISH_CHECK_MS);
  }
  throw new ServiceError("unavailable", {
    detail: `Event ${eventId} is not published yet. Reconnect with the same id.`,
    headers: { "Retry-After": "2" },
  });
}

/**
 * Returns the id of the newest event. If there is no event yet, returns an id before all events: a
 * reader that continues after it gets every event.
 */
async function findNewest(
  state: StreamsState,
  now: EventPosition,
  { userId }: EventSelector,
): Promise<string> {
  const newest = await query(
    state,
    (sql) => findNewestUpTo(sql, now, userId),
    "find newest event",
  );
  return newest ?? NIL;
}

/** Runs a query when fewer than `CONCURRENT_READS` run. */
async function query<T>(
  { service, reads }: StreamsState,
  run: (sql: Sql) => Promise<T>,
  name: string,
): Promise<T> {
  const release = await reads.acquire();
  try {
    return await service.database.query(run, name);
  } finally {
    release();
  }
}

function sendHeartbeats(state: StreamsState): void {
  endExpired(state);
  for (const stream of state.streams.keys()) stream.sendHeartbeat();
}

function checkCredentials(state: StreamsState): void {
  endExpired(state);
  state.keyCheck ??= endRevoked(state).finally(() => state.keyCheck = null);
}

function endExpired({ service, streams }: StreamsState): void {
  const now = service.clock();
  for (const [stream, { caller, endsAt }] of streams) {
    // Here, too, because this needs no database.
    if (hasExpired(caller, now)) stream.endNow("its token has expired");
    // A stream that ended normally would keep what its reader has not read in memory, for as long
    // as the reader stays connected, and no limit would count it.
    else if (now >= endsAt) stream.endNow("its longest time is over");
  }
}

/** Ends the streams of revoked keys and ended sessions, with one query for all of them. */
async function endRevoked({ service, streams }: StreamsState): Promise<void> {
  const callers = [...streams.values()].map(({ caller }) => caller);
  try {
    const ended = await findEnded(service, callers, "check keys of streams");
    for (const [stream, { caller }] of streams) {
      const reason = ended.get(caller);
      if (reason !== undefined) stream.endNow(reason);
    }
  } catch (error) {
    // Streams send nothing while the database is unavailable. The next check finds revoked keys.
    if (!(error instanceof DatabaseUnavailable)) {
      service.log.error("stream_key_check_failed", error);
    }
  }
}

/** How many streams may be open. */
export interface StreamLimits {
  perCaller: number;
  total: number;
}

const DEFAULT_LIMITS: StreamLimits = { perCaller: 100, total: 1_000 };

/** The caller cannot know when another stream ends; clients should not retry at once. */
const RETRY_SECONDS = 10;

/** Each stream takes memory: a reader that reads slowly has up to 2 MB buffered. */
function requireRoom(caller: Caller, open: OpenStream[], limits: StreamLimits): void {
  const own = open.filter((each) => each.caller.userId === caller.userId).length;
  if (own >= limits.perCaller || open.length >= limits.total) throw noRoom(own, limits);
}

function noRoom(own: number, { perCaller }: StreamLimits): ServiceError {
  return new ServiceError("rate_limited", {
    detail: own >= perCaller
      ? `You have ${own} open event streams, and the limit is ${perCaller}. Close one of them first.`
      : `The service has no room for more event streams. Retry in ${RETRY_SECONDS} s.`,
    headers: {
      "Retry-After": String(RETRY_SECONDS),
      "RateLimit": `"streams";r=0;t=${RETRY_SECONDS}`,
      "RateLimit-Policy": `"streams";q=${perCaller}`,
    },
  });
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
