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
import { createBoundedStream } from "./bounded_stream.ts";

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

export function createEventStream(options: EventStreamOptions): EventStream {
  const { selector, frame, read, onError } = options;
  const closed = Promise.withResolvers<void>();
  let isClosed = false;
  /** The stream has caught up with the follower, and sends each event as soon as it is pushed. */
  let isLive = false;
  /**
   * All matching events after the start position, up to this one, were sent. Null at first, and
   * again after the first live event: from then on, no pushed event can be one already sent.
   */
  let position: EventPosition | null = null;
  /**
   * Events pushed while the stream is not live. While this is null, such events are dropped, and
   * are read from the database later.
   */
  let buffered: PositionedEvent[] | null = [];
  let isReading = false;

  const stream = createBoundedStream({
    onIdle: () => void catchUp(),
    onClosed() {
      isClosed = true;
      buffered = null;
      closed.resolve();
      options.onClosed();
    },
  });
  stream.write(RECONNECT_DELAY);

  /** Sends events until the buffer of `stream` is full; returns whether all were sent. */
  function send(events: Iterable<PositionedEvent>): boolean {
    for (const event of events) {
      if (!stream.write(frame(event))) return false;
      position = event.position;
    }
    return true;
  }

  /**
   * Reads and sends one page. The stream can go live after the last page without losing an event:
   * the last page covers every event that the follower pushed before the read began. Later events
   * were either pushed during the read, and are buffered, or are still to be pushed.
   */
  async function sendPage(from: EventPosition): Promise<void> {
    buffered = [];
    const { events, end, isLast } = await read(from);
    const pushed = buffered;
    buffered = null;
    if (!send(events)) return;
    if (isLast && pushed) goLive(end, pushed);
    else position = end;
  }

  function goLive(end: EventPosition, pushed: readonly PositionedEvent[]): void {
    position = end;
    isLive = send(pushed.filter((event) => event.position > end));
    buffered = null;
  }

  /** Reads the next page each time the reader has received the previous page. */
  async function catchUp(): Promise<void> {
    if (isReading) return;
    isReading = true;
    while (!isLive && !isClosed && position !== null && stream.isEmpty()) {
      try {
        await sendPage(position);
      } catch (error) {
        buffered = null;
        if (error instanceof DatabaseUnavailable) await waitAtMost(RETRY_MS, closed.promise);
        else {
          onError(error);
          stream.abort("events could not be read");
        }
      }
    }
    isReading = false;
  }

  return {
    readable: stream.readable,
    push(event) {
      if (!matches(selector, event)) return;
      if (!isLive) {
        if (buffered && buffered.push(event) > MAX_BUFFERED) buffered = null;
        return;
      }
      if (position !== null && event.position <= position) return;
      position = null;
      // A reader that is too slow reconnects and continues after the last event it received.
      if (!stream.write(frame(event))) stream.abort("the reader is too slow");
    },
    sendStartId: (eventId) => void stream.write(encoder.encode(`id: ${eventId}\n\n`)),
    followFrom(from) {
      if (buffered) goLive(from, buffered);
      else position = from;
    },
    catchUpFrom: sendPage,
    sendHeartbeat: () => void (stream.isEmpty() && stream.write(HEARTBEAT)),
    endNow: (reason) => stream.isEmpty() ? stream.end() : stream.abort(reason),
  };
}

function matches({ names, resourceId, userId }: EventSelector, event: PositionedEvent): boolean {
  return (userId === null || event.user_id === userId) &&
    (resourceId === null || event.resource_id === resourceId) &&
    (names === null || names.includes(event.name));
}
