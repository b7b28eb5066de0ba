/** Shows whether the service's time is right: compares it with the clocks of others. */

import type { Clock, TimeRange } from "./clock.ts";
import type { ServiceClock } from "./service_clock.ts";

/** Differences between clocks in milliseconds. Positive: the first clock is ahead. */
export interface ClockOffsets {
  /** This machine's clock against the database's. The service uses this machine's only in logs. */
  database: number;
  /**
   * The service's time, which is the database's, against the gateway's. Null: the gateway has not
   * responded yet, or its responses have no date.
   */
  gateway: number | null;
}

export interface ClockState extends ClockOffsets {
  /** False: the time jumped, or the database's time could not be measured. */
  isReliable: boolean;
}

export interface ClockCheck {
  measure(): Promise<ClockState>;
}

export interface Clocks {
  serviceClock: ServiceClock;
  gateway: { time(): TimeRange | null };
  machineClock?: Clock;
}

export function createClockCheck(clocks: Clocks): ClockCheck {
  const { serviceClock, gateway, machineClock = Date.now } = clocks;
  return {
    async measure() {
      await serviceClock.measure();
      const now = serviceClock.now();
      const gatewayTime = gateway.time();
      return {
        database: machineClock() - now,
        gateway: gatewayTime && aheadOf(now, gatewayTime),
        isReliable: serviceClock.isReliable(),
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

/** Whether the service can decide by its time that a payment has expired or was never made. */
export function canDecideByTime({ gateway, isReliable }: Omit<ClockState, "database">): boolean {
  return isReliable && Math.abs(gateway ?? 0) <= MAX_SKEW_MS;
}

/** Whether all clocks agree, this machine's included. */
export function isAccurate(state: ClockState): boolean {
  return canDecideByTime(state) && Math.abs(state.database) <= MAX_SKEW_MS;
}

/** The service's time is not certain enough to decide that a payment has expired. */
export class ClockSkewed extends Error {
  override name = "ClockSkewed";
}

/** Throws `ClockSkewed` if the service cannot decide by its time. */
export async function requireAccurateClock(clockCheck: ClockCheck): Promise<void> {
  const state = await clockCheck.measure();
  if (canDecideByTime(state)) return;
  throw new ClockSkewed(
    state.isReliable
      ? `No payment was expired, because the database's clock is ${
        ((state.gateway ?? 0) / 1_000).toFixed(1)
      } s ahead of the gateway's. Synchronize the clock of the database server, for example with NTP.`
      : "No payment was expired, because the database's time jumped or this machine was suspended. " +
        "The next run decides again.",
  );
}
