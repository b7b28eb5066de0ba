/** Disturbs a run: kills and pauses instances, kills the database, and makes the gateway fail. */

import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../sandbox/engine/random.ts";
import type { Installation } from "./installation.ts";

export interface Disturbances {
  /** How often each kind happened. */
  counts: { killed: number; databases: number; paused: number; gateway: number };
  /** The longest time from the kill of an instance until it ran again, in ms. */
  longestRestart: number;
  /** When the last kill or failover of the database began; null: none since the last write. */
  databaseDownSince: number | null;
}

export function kills({ counts }: Disturbances): number {
  return counts.killed + counts.databases;
}

export function createDisturbances(): Disturbances {
  return {
    counts: { killed: 0, databases: 0, paused: 0, gateway: 0 },
    longestRestart: 0,
    databaseDownSince: null,
  };
}

/** Operations of the gateway that fail, and how. */
const GATEWAY_OPERATIONS = ["charge", "status", "refund", "direct_refund", "capture", "cancel"];

const GATEWAY_FAULTS = [
  "reset",
  "answer_lost",
  "error_500",
  "error_503",
  "hidden_500",
  "rate_limit",
  "broken_json",
  "html",
  "webhook_first",
  "delay",
];

const [LEAST_PAUSE_MS, MORE_PAUSE_MS] = [200, 1_000];

/** Of a hundred pauses; the lock of a paused instance is free after 15 seconds. */
const LONG_PAUSES = 20;
const [SHORT_PAUSE_MS, LONG_PAUSE_MS] = [3_000, 18_000];

const MOST_FAULTS = 5;

/** Goes on until `isOver`. One instance at most is paused at a time, and one is killed at a time. */
export async function disturb(
  installation: Installation,
  random: Random,
  state: Disturbances,
  isOver: () => boolean,
): Promise<void> {
  await Promise.all([
    repeat(() => kill(installation, random, state)),
    repeat(() => pause(installation, random, state)),
    repeat(() => failGateway(installation, random, state)),
  ]);

  async function repeat(work: () => Promise<void>): Promise<void> {
    while (!isOver()) {
      await delay(LEAST_PAUSE_MS + random.below(MORE_PAUSE_MS));
      if (!isOver()) await work();
    }
  }
}

/** One of four kills is that of the database. */
async function kill(
  { instances, database }: Installation,
  random: Random,
  state: Disturbances,
): Promise<void> {
  const startedAt = performance.now();
  if (random.below(4) === 0) {
    state.databaseDownSince = startedAt;
    await database.disturb(random);
    state.counts.databases++;
    return;
  }
  const instance = pick(random, instances);
  await instance.kill();
  await instance.start();
  state.counts.killed++;
  state.longestRestart = Math.max(state.longestRestart, performance.now() - startedAt);
}

async function pause({ instances }: Installation, random: Random, state: Disturbances) {
  const isLong = random.below(100) < LONG_PAUSES;
  await pick(random, instances).pause(isLong ? LONG_PAUSE_MS : random.below(SHORT_PAUSE_MS));
  state.counts.paused++;
  await delay(LONG_PAUSE_MS / instances.length);
}

async function failGateway({ sandbox }: Installation, random: Random, state: Disturbances) {
  const count = 1 + random.below(MOST_FAULTS);
  await sandbox.fault(pick(random, GATEWAY_OPERATIONS), pick(random, GATEWAY_FAULTS), { count });
  state.counts.gateway++;
}

function pick<T>(random: Random, items: readonly T[]): T {
  return items[random.below(items.length)]!;
}
