/** Runs actions when they are due: expiries, settlements, subscription cycles, retries. */

import type { Clock } from "./time.ts";

export interface Schedule {
  /**
   * Schedules `key` for the time `at` instead of the time set before; null cancels the entry.
   * Entries that other requests add during a clock jump wait until the jump ends, because a steady
   * stream of new entries could keep the jump from ending. With `joinsJump`, the entry does not
   * wait.
   */
  set(key: string, at: number | null, joinsJump?: boolean): void;
  /** Number of entries in memory, including cancelled ones that were not removed yet. */
  readonly size: number;
  /** Moves the clock to `to`, even if it throws, and runs all entries that are due on the way. */
  advance(to: number): Promise<void>;
  /** No entry runs before this call, because an entry needs the complete `World`. */
  start(): void;
  close(): void;
}

interface Entry {
  at: number;
  order: number;
  key: string;
  isCancelled: boolean;
}

/** Cancelled entries are removed when there are this many and they are at least half of all. */
const MAX_CANCELLED = 1000;

/** Maximum delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

interface ScheduleState {
  clock: Clock;
  /** Does what is due; checks whether there is still something to do. Must not throw. */
  runDue(key: string): Promise<void>;
  /** A clock jump waits for this first. Must not throw. */
  waitForInFlight(): Promise<void>;
  heap: Entry[];
  /** The current entry of each key; cancelled entries are not in this map. */
  current: Map<string, Entry>;
  /** How many entries of the heap are cancelled. */
  cancelled: number;
  nextOrder: number;
  timer: { at: number; id: ReturnType<typeof setTimeout> } | null;
  running: Promise<void>;
  isStarted: boolean;
  /** Entries added during a jump; null if no jump is running. */
  deferred: Entry[] | null;
  isRunningEntry: boolean;
}

/** Calls `runDue` when an entry is due. A clock jump also waits for each of these calls. */
export function createSchedule(
  clock: Clock,
  runDue: (key: string) => Promise<void>,
  waitForInFlight: () => Promise<void>,
): Schedule {
  const schedule: ScheduleState = {
    clock,
    runDue,
    waitForInFlight,
    heap: [],
    current: new Map(),
    cancelled: 0,
    nextOrder: 0,
    timer: null,
    running: Promise.resolve(),
    isStarted: false,
    deferred: null,
    isRunningEntry: false,
  };
  return {
    set: (key, at, joinsJump = false) => setEntry(schedule, key, at, joinsJump),
    get size() {
      return schedule.heap.length + (schedule.deferred?.length ?? 0);
    },
    async advance(to) {
      try {
        await runUntil(schedule, to, true);
      } finally {
        clock.set(to);
        // The timer's delay was computed before the clock moved.
        disarm(schedule);
        arm(schedule);
      }
    },
    start() {
      schedule.isStarted = true;
      arm(schedule);
    },
    close() {
      schedule.isStarted = false;
      disarm(schedule);
    },
  };
}

function setEntry(
  schedule: ScheduleState,
  key: string,
  at: number | null,
  joinsJump: boolean,
): void {
  const { current, deferred, isRunningEntry } = schedule;
  const known = current.get(key);
  if (known?.at === at) return;
  if (known) cancel(schedule, known);
  if (at === null) return;
  const entry = { at, order: schedule.nextOrder++, key, isCancelled: false };
  current.set(key, entry);
  if (deferred && !isRunningEntry && !joinsJump) {
    deferred.push(entry);
    return;
  }
  push(schedule.heap, entry);
  arm(schedule);
}

function cancel(schedule: ScheduleState, entry: Entry): void {
  const { heap } = schedule;
  entry.isCancelled = true;
  schedule.current.delete(entry.key);
  schedule.cancelled++;
  if (schedule.cancelled < MAX_CANCELLED || schedule.cancelled * 2 < heap.length) return;
  const kept = heap.filter(({ isCancelled }) => !isCancelled);
  schedule.cancelled -= heap.length - kept.length;
  // A sorted list is a valid heap.
  schedule.heap = kept.sort((a, b) => isBefore(a, b) ? -1 : 1);
}

/** Sets the timer for the earliest entry. */
function arm(schedule: ScheduleState): void {
  const { clock, heap: [earliest], timer } = schedule;
  if (!schedule.isStarted || !earliest || (timer && timer.at <= earliest.at)) return;
  disarm(schedule);
  const wait = Math.min(clock.realDelay(earliest.at), MAX_TIMER_MS);
  const id = setTimeout(() => {
    schedule.timer = null;
    runUntil(schedule, clock.now(), false).finally(() => arm(schedule));
  }, wait);
  schedule.timer = { at: earliest.at, id };
}

function disarm(schedule: ScheduleState): void {
  clearTimeout(schedule.timer?.id);
  schedule.timer = null;
}

/** Only one call runs at a time: a timer that fires during a jump waits for the end of the jump. */
function runUntil(schedule: ScheduleState, to: number, isJump: boolean): Promise<void> {
  // A failed jump must not block later ones.
  schedule.running = schedule.running.catch(() => {}).then(async () => {
    if (isJump) schedule.deferred = [];
    try {
      // Webhooks in flight finish first: the response of a receiver may schedule a retry.
      if (isJump) await schedule.waitForInFlight();
      await runEntriesUntil(schedule, to, isJump);
    } finally {
      for (const entry of schedule.deferred ?? []) push(schedule.heap, entry);
      schedule.deferred = null;
    }
  });
  return schedule.running;
}

async function runEntriesUntil(schedule: ScheduleState, to: number, isJump: boolean) {
  const isDue = () => (schedule.heap[0]?.at ?? Infinity) <= to;
  while (schedule.isStarted && isDue()) {
    const { at, key, isCancelled } = pop(schedule.heap);
    if (isCancelled) {
      schedule.cancelled--;
      continue;
    }
    schedule.current.delete(key);
    schedule.clock.set(at);
    schedule.isRunningEntry = true;
    const finished = schedule.runDue(key);
    schedule.isRunningEntry = false;
    if (isJump) await finished;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function push(heap: Entry[], entry: Entry): void {
  let i = heap.push(entry) - 1;
  while (i > 0) {
    const parent = (i - 1) >> 1;
    if (!isBefore(entry, heap[parent]!)) break;
    heap[i] = heap[parent]!;
    i = parent;
  }
  heap[i] = entry;
}

function pop(heap: Entry[]): Entry {
  const top = heap[0]!;
  const last = heap.pop()!;
  if (heap.length === 0) return top;
  let i = 0;
  while (true) {
    let child = 2 * i + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
    if (!isBefore(heap[child]!, last)) break;
    heap[i] = heap[child]!;
    i = child;
  }
  heap[i] = last;
  return top;
}
