/** What is due when: expiries, settlements, cycles, retries, in the order of their time. */

import type { Clock } from "./time.ts";

export interface Schedule {
  /**
   * Asks for a look at `key` when it is `at`. What was asked for before still happens. What others
   * ask for in the middle of a jump waits for its end, unless it is owed: else those who come faster
   * than it gets on would keep it from ever ending.
   */
  add(at: number, key: string, isOwed?: boolean): void;
  /** Moves the clock to `to`, stopping at everything that is due on the way. */
  advance(to: number): Promise<void>;
  /** Until then nothing happens by itself: first everything has to be in its place. */
  start(): void;
  close(): void;
}

interface Entry {
  at: number;
  order: number;
  key: string;
}

/** Timers hold at most this. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

/**
 * `look` is called at each entry's time and decides by itself whether there is anything to do. In a
 * jump, time goes on when what it caused has happened; `settle` does the same for what is under way
 * when the jump begins. Neither may fail.
 */
export function createSchedule(
  clock: Clock,
  look: (key: string) => Promise<void>,
  settle: () => Promise<void>,
): Schedule {
  const heap: Entry[] = [];
  let count = 0;
  let timer: { at: number; id: ReturnType<typeof setTimeout> } | null = null;
  let running: Promise<void> = Promise.resolve();
  let isRunning = false;
  /** What came in the middle of a jump; null: there is none. */
  let later: Entry[] | null = null;
  let isLooking = false;

  function arm() {
    const earliest = heap[0];
    if (!isRunning || !earliest || (timer && timer.at <= earliest.at)) return;
    if (timer) clearTimeout(timer.id);
    const wait = Math.min(clock.realDelay(earliest.at), LONGEST_WAIT_MS);
    const id = setTimeout(() => {
      timer = null;
      runUntil(clock.now(), false).finally(arm);
    }, wait);
    timer = { at: earliest.at, id };
  }

  /** One at a time: a timer that fires in the middle of a jump waits for its end. */
  function runUntil(to: number, isJump: boolean): Promise<void> {
    // What one jump failed in must not stop time for good.
    running = running.catch(() => {}).then(async () => {
      // What is under way has its consequences first: an answer that asks for a retry, say.
      if (isJump) later = [];
      try {
        if (isJump) await settle();
        await lookUntil(to, isJump);
      } finally {
        for (const entry of later ?? []) push(heap, entry);
        later = null;
      }
    });
    return running;
  }

  async function lookUntil(to: number, isJump: boolean): Promise<void> {
    while (isRunning && heap[0] && heap[0].at <= to) {
      const { at, key } = pop(heap);
      clock.set(at);
      isLooking = true;
      const caused = look(key);
      isLooking = false;
      if (isJump) await caused;
    }
  }

  return {
    add(at, key, isOwed = false) {
      const entry = { at, order: count++, key };
      if (later && !isLooking && !isOwed) {
        later.push(entry);
        return;
      }
      push(heap, entry);
      arm();
    },
    async advance(to) {
      await runUntil(to, true);
      clock.set(to);
      // The wait of the timer was reckoned with the clock as it stood before.
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
