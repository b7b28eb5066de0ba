/** Ids: UUIDv7, in the order of their making, those of one millisecond included. */

import { randomInt } from "node:crypto";
import { v7 as uuidv7 } from "uuid";

/** The library counts by itself only where it also reads the clock by itself. */
let last = { time: 0, count: 0 };

export function newId(now: Date): string {
  const time = now.getTime();
  const isSame = time === last.time && last.count < MOST;
  last = { time, count: isSame ? last.count + 1 : randomInt(2 ** 31) };
  return uuidv7({ msecs: time, seq: last.count });
}

const MOST = 2 ** 32 - 1;
