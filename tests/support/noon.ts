/**
 * A clock for tests of days. It was noon in Jakarta, 5:00 in UTC, when this process started, so the
 * day does not end during a test, in either time zone.
 */

import { dayInWib } from "../../core/gateway/times.ts";
import type { TestSandbox } from "./gateway/sandbox.ts";

const DAY_SECONDS = 86_400;

const NOON_SECONDS = 5 * 3_600;

/** How far the clock is ahead: the clock of the sandbox can only be advanced, by whole seconds. */
const AHEAD_SECONDS = DAY_SECONDS -
  (Math.floor(Date.now() / 1_000) + DAY_SECONDS - NOON_SECONDS) % DAY_SECONDS;

export function noonClock(): number {
  return Date.now() + AHEAD_SECONDS * 1_000;
}

/** The day of the clock, in Jakarta. */
export function today(): string {
  return dayInWib(new Date(noonClock()));
}

/** Opens an app and a sandbox with this clock. */
export async function openAtNoon<T extends { sandbox: TestSandbox }>(
  open: (options: { now: () => number }) => Promise<T>,
): Promise<T> {
  const opened = await open({ now: noonClock });
  await opened.sandbox.advance(AHEAD_SECONDS);
  return opened;
}
