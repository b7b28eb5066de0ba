/** One reader of events as they happen: first what it has missed, then what comes. */

import { DatabaseUnavailable } from "../../db/database.ts";
import {
  type EventChoice,
  type EventReading,
  isAfter,
  type Place,
  type PlacedEvent,
} from "../../db/event_positions.ts";
import { waitAtMost } from "../../db/within.ts";
import { createOutlet } from "./outlet.ts";

export interface EventStream {
  readable: ReadableStream<Uint8Array>;
  /** An event was settled. */
  hear(event: PlacedEvent): void;
  /** Who is cut off before any event goes on after this one. */
  beginAfter(eventId: string): void;
  /** What came after this place is sent, and all that comes. */
  goOnFrom(place: Place): void;
  /** What was there after this place is read and sent, and then all that comes. */
  catchUpFrom(place: Place): Promise<void>;
  /** Shows that it is still there. */
  beat(): void;
  /** Sends what still waits, and no more. */
  end(): void;
  /** Ends without waiting for a reader who is behind. */
  endNow(): void;
}

export interface EventStreamOptions {
  choice: EventChoice;
  /** The bytes that tell of an event. */
  frame(event: PlacedEvent): Uint8Array;
  /** What comes after a place, a few at a time. */
  read(place: Place): Promise<EventReading>;
  /** It cannot go on, for a reason that is nobody's but ours. */
  onError(error: unknown): void;
  onGone(): void;
}

/** So many may come while it reads what it has missed. */
const MOST_HELD = 1_000;

/** How soon to read again when the database was away. */
const RETRY_MS = 500;

const encoder = new TextEncoder();
const HELLO = encoder.encode("retry: 1000\n\n");
const BEAT = encoder.encode(":\n\n");

export function createEventStream(options: EventStreamOptions): EventStream {
  const { choice, frame, read, onError } = options;
  const gone = Promise.withResolvers<void>();
  let isGone = false;
  /** It has met those who follow, and sends what they tell. */
  let isLive = false;
  /** Up to where all was sent that it wants; null: those who follow have come further. */
  let place: Place | null = null;
  /** What came while it is not; null where it is read later anyway. */
  let held: PlacedEvent[] | null = [];
  let isReading = false;

  const outlet = createOutlet({
    onHungry: () => void catchUp(),
    onGone() {
      isGone = true;
      held = null;
      gone.resolve();
      options.onGone();
    },
  });
  outlet.write(HELLO);

  /** As many as there is room for; whether that was all of them. */
  function send(events: Iterable<PlacedEvent>): boolean {
    for (const event of events) {
      if (!outlet.write(frame(event))) return false;
      place = event.place;
    }
    return true;
  }

  /**
   * When this begins, those who follow have come to some place, and it gets at least as far. So the
   * two meet as soon as it got all there was: of what they have told meanwhile, and of what they tell
   * from now on, all that lies beyond its own end is new.
   */
  async function readOn(from: Place): Promise<void> {
    held = [];
    const { events, end, isAll } = await read(from);
    const came = held;
    held = null;
    if (!send(events)) return;
    if (isAll && came) meet(end, came);
    else place = end;
  }

  function meet(end: Place, came: readonly PlacedEvent[]): void {
    place = end;
    isLive = send(came.filter((event) => isAfter(event.place, end)));
    held = null;
  }

  /** One page after the other, each when the one before it has been read. */
  async function catchUp(): Promise<void> {
    if (isReading) return;
    isReading = true;
    while (!isLive && !isGone && place && outlet.isEmpty()) {
      try {
        await readOn(place);
      } catch (error) {
        held = null;
        if (error instanceof DatabaseUnavailable) await waitAtMost(RETRY_MS, gone.promise);
        else {
          onError(error);
          outlet.cut();
        }
      }
    }
    isReading = false;
  }

  return {
    readable: outlet.readable,
    hear(event) {
      if (!wants(choice, event)) return;
      if (!isLive) {
        if (held && held.push(event) > MOST_HELD) held = null;
        return;
      }
      if (place && !isAfter(event.place, place)) return;
      place = null;
      // Who is too slow comes back, and goes on where it was.
      if (!outlet.write(frame(event))) outlet.cut();
    },
    beginAfter: (eventId) => void outlet.write(encoder.encode(`id: ${eventId}\n\n`)),
    goOnFrom(from) {
      if (held) meet(from, held);
      else place = from;
    },
    catchUpFrom: readOn,
    beat: () => void (outlet.isEmpty() && outlet.write(BEAT)),
    end: outlet.end,
    endNow: () => outlet.isEmpty() ? outlet.end() : outlet.cut(),
  };
}

function wants({ names, resourceId, userId }: EventChoice, event: PlacedEvent): boolean {
  return (userId === null || event.user_id === userId) &&
    (resourceId === null || event.resource_id === resourceId) &&
    (names === null || names.includes(event.name));
}
