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

/** Roughly the time between two disturbances of a kind. */
const [PAUSE_MS, DATABASE_PAUSE_MS] = [1_000, 6_000];

/** Of a hundred pauses of an instance; its lock is free after 15 seconds. */
const LONG_STOPS = 20;
const [SHORT_STOP_MS, LONG_STOP_MS] = [3_000, 18_000];

const MOST_FAULTS = 5;

/** Goes on until `isOver`. Of each kind, one disturbance happens at a time. */
export async function disturb(
  installation: Installation,
  random: Random,
  state: Disturbances,
  isOver: () => boolean,
): Promise<void> {
  await Promise.all([
    repeat(PAUSE_MS, () => kill(installation, random, state)),
    repeat(DATABASE_PAUSE_MS, () => killDatabase(installation, random, state)),
    repeat(PAUSE_MS, () => pause(installation, random, state)),
    repeat(PAUSE_MS, () => failGateway(installation, random, state)),
  ]);

  async function repeat(pauseMs: number, work: () => Promise<void>): Promise<void> {
    while (!isOver()) {
      await delay(pauseMs / 2 + random.below(pauseMs));
      if (!isOver()) await work();
    }
  }
}

async function kill({ instances }: Installation, random: Random, state: Disturbances) {
  const startedAt = performance.now();
  const instance = pick(random, instances);
  await instance.kill();
  state.counts.killed++;
  await instance.start();
  state.longestRestart = Math.max(state.longestRestart, performance.now() - startedAt);
}

async function killDatabase({ database }: Installation, random: Random, state: Disturbances) {
  state.databaseDownSince = performance.now();
  await database.disturb(random);
  state.counts.databases++;
}

async function pause({ instances }: Installation, random: Random, state: Disturbances) {
  const isLong = random.below(100) < LONG_STOPS;
  await pick(random, instances).pause(isLong ? LONG_STOP_MS : random.below(SHORT_STOP_MS));
  state.counts.paused++;
}

async function failGateway({ sandbox }: Installation, random: Random, state: Disturbances) {
  const count = 1 + random.below(MOST_FAULTS);
  await sandbox.fault(pick(random, GATEWAY_OPERATIONS), pick(random, GATEWAY_FAULTS), { count });
  state.counts.gateway++;
}

function pick<T>(random: Random, items: readonly T[]): T {
  return items[random.below(items.length)]!;
}
