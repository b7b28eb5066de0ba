/**
 * The service's time: the database's time, so that instances whose clocks differ decide alike.
 * Between two measurements the monotonic clock continues it. A wrong or stepping clock of this
 * machine therefore changes nothing.
 */

import { type Database, readServerTime } from "../../db/connection/database.ts";
import type { Clock } from "./clock.ts";
import type { Log } from "../telemetry/log.ts";

export interface ServiceClock {
  now: Clock;
  /** Compares the time with the database's and corrects it. Rejects if the database is down. */
  measure(): Promise<void>;
  /** False: the time jumped, or could not be measured for a while. Decide nothing by time then. */
  isReliable(): boolean;
}

export interface OpenServiceClock extends ServiceClock, Disposable {}

/** The clocks of this machine, in milliseconds. */
export interface MachineClocks {
  /** Can be wrong and can step. */
  wall: Clock;
  /** Never steps, but may stand still while the machine is suspended. */
  monotonic: Clock;
}

const MACHINE_CLOCKS: MachineClocks = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
};

export interface ServiceClockOptions {
  database: Database;
  log: Log;
  machine?: MachineClocks;
  /** Pass null to measure only when `measure` is called. */
  refreshMs?: number | null;
}

const REFRESH_MS = 10_000;

/** Without a measurement for so long, the time counts as unknown. */
const MAX_AGE_MS = 60_000;

/** Clocks that are synchronized are corrected in smaller steps. */
const JUMP_MS = 1_000;

/** Resolves after the first measurement. */
export async function openServiceClock(options: ServiceClockOptions): Promise<OpenServiceClock> {
  const { database, log, machine = MACHINE_CLOCKS, refreshMs = REFRESH_MS } = options;
  const { wall, monotonic } = machine;
  /** The limits of the database's time minus the monotonic time, from all measurements. */
  let limits = { lowest: -Infinity, highest: Infinity };
  /** A value between the limits. It changes only if it must, so that the time runs evenly. */
  let offset = NaN;
  /** The machine's time minus the monotonic time at the last measurement. */
  let wallOffset = NaN;
  let measuredAt = -Infinity;
  let hasJumped = false;
  let measuring: Promise<void> | null = null;

  async function compare(): Promise<void> {
    const before = monotonic();
    const serverTime = await database.query(readServerTime, "read server time");
    const after = monotonic();
    // The server read its clock between `before` and `after`.
    const lowest = Math.max(limits.lowest, serverTime - after);
    const highest = Math.min(limits.highest, serverTime - before);
    const contradictionMs = lowest - highest;
    limits = contradictionMs > 0
      ? { lowest: serverTime - after, highest: serverTime - before }
      : { lowest, highest };
    hasJumped = contradictionMs > JUMP_MS;
    if (hasJumped) log.error("clock_jumped", new Error(JUMP), { ms: Math.round(contradictionMs) });
    offset = Number.isNaN(offset)
      ? (limits.lowest + limits.highest) / 2
      : Math.min(Math.max(offset, limits.lowest), limits.highest);
    wallOffset = wall() - after;
    measuredAt = after;
  }

  const measure = () => measuring ??= compare().finally(() => measuring = null);
  const measureInBackground = () => void measure().catch(() => {});

  /** A step of the machine's clock is harmless, but it may be the end of a suspension. */
  function hasMachineStepped(): boolean {
    return Math.abs(wall() - monotonic() - wallOffset) > JUMP_MS;
  }

  await measure();
  const timer = refreshMs === null ? undefined : setInterval(measureInBackground, refreshMs);
  return {
    now() {
      if (measuring === null && hasMachineStepped()) measureInBackground();
      return Math.floor(monotonic() + offset);
    },
    measure,
    isReliable: () => !hasJumped && !hasMachineStepped() && monotonic() - measuredAt < MAX_AGE_MS,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

const JUMP = "The database's time jumped, or this machine was suspended";

/** A time that is taken for right, for programs without a database and for tests. */
export function unmeasured(now: Clock): ServiceClock {
  return { now, measure: () => Promise.resolve(), isReliable: () => true };
}
