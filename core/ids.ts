/** Ids of the service: UUIDv7, which start with a timestamp and so sort by creation time. */

import { randomInt } from "node:crypto";
import { v7 as uuidv7 } from "uuid";

/** The library counts only if it reads the system clock itself, so the counter is kept here. */
let last = { time: 0, count: 0 };

const MAX_COUNT = 2 ** 32 - 1;

/** Ids of a process sort in order of creation, even in one millisecond, unless `now` goes back. */
export function newId(now: Date): string {
  const time = now.getTime();
  const canIncrement = time === last.time && last.count < MAX_COUNT;
  last = { time, count: canIncrement ? last.count + 1 : randomInt(2 ** 31) };
  return uuidv7({ msecs: time, seq: last.count });
}

/** The smallest possible id of the given millisecond; before 1970, the smallest of all. */
export function firstIdAt(time: Date): string {
  const hex = Math.max(time.getTime(), 0).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
