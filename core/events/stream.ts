/**
 * The event stream of one reader: first the events it has missed, then new events as soon as they
 * have a position.
 */

import { waitAtMost } from "../../concurrency/deadlines.ts";
import { DatabaseUnavailable } from "../../db/connection/database.ts";
import {
  type EventBatch,
  type EventPosition,
  type EventSelector,
  type PositionedEvent,
} from "../../db/events/positions.ts";
import { type BoundedStream, createBoundedStream } from "./bounded_stream.ts";

export interface EventStream {
  readable: ReadableStream<Uint8Array>;
  /** Called by the follower with each new event. */
  push(event: PositionedEvent): void;
  /** Sends an id without an event, so that a reader can resume even before its first event. */
  sendStartId(eventId: string): void;
  /** Sends the events after this position as soon as they are published. */
  followFrom(position: EventPosition): void;
  /** Sends the stored events after this position, then follows. Resolves after the first page. */
  catchUpFrom(position: EventPosition): Promise<void>;
  sendHeartbeat(): void;
  /** Ends without waiting for a reader that is behind; the stream of such a reader fails. */
  endNow(reason: string): void;
}

export interface EventStreamOptions {
  selector: EventSelector;
  /** An event in the format of the stream. */
  frame(event: PositionedEvent): Uint8Array;
  /** Reads a page of the events after a position. */
  read(position: EventPosition): Promise<EventBatch>;
  /** Called if the stream cannot continue because of an error in the service. */
  onError(error: unknown): void;
  onClosed(): void;
}

/** How many new events are buffered while a page of missed events is read. */
const MAX_BUFFERED = 1_000;

/** The pause before the next read while the database is unavailable. */
const RETRY_MS = 500;

const encoder = new TextEncoder();
const RECONNECT_DELAY = encoder.encode("retry: 1000\n\n");
const HEARTBEAT = encoder.encode(":\n\n");

interface StreamState {
  options: EventStreamOptions;
  stream: BoundedStream;
  closed: PromiseWithResolvers<void>;
  isClosed: boolean;
  /** The stream has caught up with the follower, and sends each event as soon as it is pushed. */
  isLive: boolean;
  /**
   * All matching events after the start position, up to this one, were sent. Null at first, and
   * again after the first live event: from then on, no pushed event can be one already sent.
   */
  position: EventPosition | null;
  /**
   * Events pushed while the stream is not live. While this is null, such events are dropped, and
   * are read from the database later.
   */
  buffered: PositionedEvent[] | null;
  isReading: boolean;
}

export function createEventStream(options: EventStreamOptions): EventStream {
  const stream = createBoundedStream({
    onIdle: () => void catchUp(state),
    onClosed() {
      state.isClosed = true;
      state.buffered = null;
      state.closed.resolve();
      options.onClosed();
    },
  });
  const state: StreamState = {
    options,
    stream,
    closed: Promise.withResolvers(),
    isClosed: false,
    isLive: false,
    position: null,
    buffered: [],
    isReading: false,
  };
  stream.write(RECONNECT_DELAY);
  return {
    readable: stream.readable,
    push: (event) => push(state, event),
    sendStartId: (eventId) => void stream.write(encoder.encode(`id: ${eventId}\n\n`)),
    followFrom(from) {
      if (state.buffered) goLive(state, from, state.buffered);
      else state.position = from;
    },
    catchUpFrom: (from) => sendPage(state, from),
    sendHeartbeat: () => void (stream.isEmpty() && stream.write(HEARTBEAT)),
    endNow: (reason) => stream.isEmpty() ? stream.end() : stream.abort(reason),
  };
}

function push(state: StreamState, event: PositionedEvent): void {
  const { options, stream, isLive, buffered, position } = state;
  if (!matches(options.selector, event)) return;
  if (!isLive) {
    if (buffered && buffered.push(event) > MAX_BUFFERED) state.buffered = null;
    return;
  }
  if (position !== null && event.position <= position) return;
  state.position = null;
  // A reader that is too slow reconnects and continues after the last event it received.
  if (!stream.write(options.frame(event))) stream.abort("the reader is too slow");
}

/** Reads the next page each time the reader has received the previous page. */
async function catchUp(state: StreamState): Promise<void> {
  const { options, stream, closed } = state;
  if (state.isReading) return;
  state.isReading = true;
  while (!state.isLive && !state.isClosed && state.position !== null && stream.isEmpty()) {
    try {
      await sendPage(state, state.position);
    } catch (error) {
      state.buffered = null;
      if (error instanceof DatabaseUnavailable) await waitAtMost(RETRY_MS, closed.promise);
      else {
        options.onError(error);
        stream.abort("events could not be read");
      }
    }
  }
  state.isReading = false;
}

/**
 * Reads and sends one page. The stream can go live after the last page without losing an event: the
 * last page covers every event that the follower pushed before the read began. Later events were
 * either pushed during the read, and are buffered, or are still to be pushed.
 */
async function sendPage(state: StreamState, from: EventPosition): Promise<void> {
  state.buffered = [];
  const { events, end, isLast } = await state.options.read(from);
  const pushed = state.buffered;
  state.buffered = null;
  if (!send(state, events)) return;
  if (isLast && pushed) goLive(state, end, pushed);
  else state.position = end;
}

function goLive(state: StreamState, end: EventPosition, pushed: readonly PositionedEvent[]): void {
  state.position = end;
  state.isLive = send(state, pushed.filter((event) => event.position > end));
  state.buffered = null;
}

/** Sends events until the buffer of the stream is full; returns whether all were sent. */
function send(state: StreamState, events: Iterable<PositionedEvent>): boolean {
  for (const event of events) {
    if (!state.stream.write(state.options.frame(event))) return false;
    state.position = event.position;
  }
  return true;
}

function matches({ names, resourceId, userId }: EventSelector, event: PositionedEvent): boolean {
  return (userId === null || event.user_id === userId) &&
    (resourceId === null || event.resource_id === resourceId) &&
    (names === null || names.includes(event.name));
}
