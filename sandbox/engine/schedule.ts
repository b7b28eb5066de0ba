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
  /** Moves the clock to `to` and runs all entries that are due on the way. */
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

/**
 * Calls `runDue` when an entry is due; `runDue` checks whether there is still something to do. A
 * clock jump first waits for `waitForInFlight`, and then for each call of `runDue`. Neither
 * function may throw.
 */
export function createSchedule(
  clock: Clock,
  runDue: (key: string) => Promise<void>,
  waitForInFlight: () => Promise<void>,
): Schedule {
  let heap: Entry[] = [];
  /** The current entry of each key; cancelled entries are not in this map. */
  const current = new Map<string, Entry>();
  let cancelled = 0;
  let nextOrder = 0;
  let timer: { at: number; id: ReturnType<typeof setTimeout> } | null = null;
  let running: Promise<void> = Promise.resolve();
  let isRunning = false;
  /** Entries added during a jump; null if no jump is running. */
  let deferred: Entry[] | null = null;
  let isRunningEntry = false;

  function arm() {
    const earliest = heap[0];
    if (!isRunning || !earliest || (timer && timer.at <= earliest.at)) return;
    if (timer) clearTimeout(timer.id);
    const wait = Math.min(clock.realDelay(earliest.at), MAX_TIMER_MS);
    const id = setTimeout(() => {
      timer = null;
      runUntil(clock.now(), false).finally(arm);
    }, wait);
    timer = { at: earliest.at, id };
  }

  /**
   * Only one call runs at a time: a timer that fires during a jump waits for the end of the jump.
   */
  function runUntil(to: number, isJump: boolean): Promise<void> {
    // A failed jump must not block later ones.
    running = running.catch(() => {}).then(async () => {
      if (isJump) deferred = [];
      try {
        // Webhooks in flight finish first: the response of a receiver may schedule a retry.
        if (isJump) await waitForInFlight();
        await runEntriesUntil(to, isJump);
      } finally {
        for (const entry of deferred ?? []) push(heap, entry);
        deferred = null;
      }
    });
    return running;
  }

  async function runEntriesUntil(to: number, isJump: boolean): Promise<void> {
    while (isRunning && heap[0] && heap[0].at <= to) {
      const { at, key, isCancelled } = pop(heap);
      if (isCancelled) {
        cancelled--;
        continue;
      }
      current.delete(key);
      clock.set(at);
      isRunningEntry = true;
      const finished = runDue(key);
      isRunningEntry = false;
      if (isJump) await finished;
    }
  }

  function cancel(entry: Entry) {
    entry.isCancelled = true;
    current.delete(entry.key);
    cancelled++;
    if (cancelled < MAX_CANCELLED || cancelled * 2 < heap.length) return;
    const before = heap.length;
    // A sorted list is a valid heap.
    heap = heap.filter(({ isCancelled }) => !isCancelled).sort((a, b) => isBefore(a, b) ? -1 : 1);
    cancelled -= before - heap.length;
  }

  return {
    set(key, at, joinsJump = false) {
      const known = current.get(key);
      if (known?.at === at) return;
      if (known) cancel(known);
      if (at === null) return;
      const entry = { at, order: nextOrder++, key, isCancelled: false };
      current.set(key, entry);
      if (deferred && !isRunningEntry && !joinsJump) {
        deferred.push(entry);
        return;
      }
      push(heap, entry);
      arm();
    },
    get size() {
      return heap.length + (deferred?.length ?? 0);
    },
    async advance(to) {
      await runUntil(to, true);
      clock.set(to);
      // The timer's delay was computed before the clock moved.
      if (timer) clearTimeout(timer.id);
      timer = null;
      arm();
    },
    start() {
      isRunning = true;
      arm();
    },
    close() {
      isRunning = false;
      if (timer) clearTimeout(timer.id);
    },
  };
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
