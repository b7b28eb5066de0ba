/** Compares the clock of this machine with those of the database and the gateway. */

import { type Database, readServerTime } from "../db/database.ts";
import type { Clock, TimeRange } from "./clock.ts";

/** How far this machine's clock is ahead of another clock, in milliseconds; negative: behind. */
export interface ClockOffsets {
  database: number;
  /** Null: the gateway has not responded yet, or its responses have no date. */
  gateway: number | null;
}

export interface ClockCheck {
  measure(): Promise<ClockOffsets>;
}

export interface ClockCheckDeps {
  database: Database;
  gateway: { time(): TimeRange | null };
  /** This machine's clock. */
  clock: Clock;
}

export function createClockCheck({ database, gateway, clock }: ClockCheckDeps): ClockCheck {
  return {
    async measure() {
      const before = clock();
      const serverTime = await database.query(readServerTime, "read server time");
      const after = clock();
      const gatewayTime = gateway.time();
      return {
        // The server read its clock between `before` and `after`, so at `before` its clock showed
        // at least `earliest` and at most `latest`.
        database: aheadOf(before, { earliest: serverTime - (after - before), latest: serverTime }),
        gateway: gatewayTime && aheadOf(after, gatewayTime),
      };
    },
  };
}

/**
 * 0 if `time` is inside the range, otherwise its distance to the range; negative: `time` is
 * earlier.
 */
function aheadOf(time: number, { earliest, latest }: TimeRange): number {
  if (time > latest) return time - latest;
  return Math.min(time - earliest, 0);
}

/** Synchronized clocks differ by less than this. */
export const MAX_SKEW_MS = 5_000;

export function isAccurate({ database, gateway }: ClockOffsets): boolean {
  return Math.abs(database) <= MAX_SKEW_MS && Math.abs(gateway ?? 0) <= MAX_SKEW_MS;
}

/** This machine's clock is too far from another clock to decide that a payment has expired. */
export class ClockSkewed extends Error {
  override name = "ClockSkewed";
}

/**
 * Throws `ClockSkewed` if this machine's clock differs too much from the database's or gateway's.
 */
export async function requireAccurateClock(clockCheck: ClockCheck): Promise<void> {
  const offsets = await clockCheck.measure();
  if (isAccurate(offsets)) return;
  const differences = Object.entries(offsets).filter(([, ms]) => ms !== null).map(([name, ms]) =>
    `${(ms! / 1_000).toFixed(1)} s from the ${name}'s`
  );
  throw new ClockSkewed(
    `No payment was expired, because this machine's clock differs too much (${
      differences.join(", ")
    }). Synchronize the clock, for example with NTP.`,
  );
}
