/** Disturbs a run: kills and pauses instances, kills the database, and makes the gateway fail. */

import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../sandbox/engine/random.ts";
import type { Json } from "../../tests/support/gateway/sandbox.ts";
import type { Installation } from "./installation.ts";

export interface Disturbances {
  /** How often each kind happened. */
  counts: {
    killed: number;
    /** By kind, such as `switchover`. */
    databases: Map<string, number>;
    paused: number;
    gateway: number;
  };
  /** How many faults of the gateway were injected. */
  injectedFaults: number;
  /** The longest time from the kill of an instance until it was ready again, in ms. */
  longestRestart: number;
  /** When the first kill or failover of the database since the last write began. */
  databaseDownSince: number | null;
  /** The longest time from there to the next acknowledged write, in ms. */
  longestOutage: number;
}

export function kills({ counts }: Disturbances): number {
  return counts.killed + databaseKills(counts);
}

export function databaseKills({ databases }: Disturbances["counts"]): number {
  return [...databases.values()].reduce((sum, count) => sum + count, 0);
}

/** Whether each kind of disturbance has happened. */
export function haveAllHappened({ counts }: Disturbances, { courier }: Installation): boolean {
  const { killed, paused, gateway } = counts;
  const all = [killed, paused, gateway, databaseKills(counts), ...Object.values(courier.counts)];
  return all.every((count) => count > 0);
}

export function createDisturbances(): Disturbances {
  return {
    counts: { killed: 0, databases: new Map(), paused: 0, gateway: 0 },
    injectedFaults: 0,
    longestRestart: 0,
    databaseDownSince: null,
    longestOutage: 0,
  };
}

/** The database has acknowledged a write, or the run is over. */
export function endOutage(state: Disturbances): void {
  if (state.databaseDownSince === null) return;
  const outage = performance.now() - state.databaseDownSince;
  state.longestOutage = Math.max(state.longestOutage, outage);
  state.databaseDownSince = null;
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
const [INTERVAL_MS, DATABASE_INTERVAL_MS] = [1_000, 6_000];

/** Long stops exceed the 15 seconds after which another instance takes over. */
const LONG_STOP_PERCENT = 20;
const [SHORT_STOP_MS, LONG_STOP_MS] = [3_000, 18_000];

const MOST_FAULTS = 5;

/** The loops of a run until `isOver`. Of each kind, one disturbance happens at a time. */
export function disturb(
  installation: Installation,
  random: Random,
  state: Disturbances,
  isOver: () => boolean,
): Promise<void>[] {
  return [
    repeat(INTERVAL_MS, () => kill(installation, random, state)),
    repeat(DATABASE_INTERVAL_MS, () => killDatabase(installation, random, state)),
    repeat(INTERVAL_MS, () => pause(installation, random, state)),
    repeat(INTERVAL_MS, () => failGateway(installation, random, state)),
  ];

  async function repeat(intervalMs: number, work: () => Promise<void>): Promise<void> {
    while (!isOver()) {
      await delay(intervalMs / 2 + random.below(intervalMs));
      if (!isOver()) await work();
    }
  }
}

async function kill({ instances }: Installation, random: Random, state: Disturbances) {
  const startedAt = performance.now();
  const instance = pick(random, instances);
  if (await instance.kill()) state.counts.killed++;
  await instance.untilReady();
  state.longestRestart = Math.max(state.longestRestart, performance.now() - startedAt);
}

async function killDatabase({ database }: Installation, random: Random, state: Disturbances) {
  const kind = await database.disturb(random, () => {
    state.databaseDownSince ??= performance.now();
  });
  const { databases } = state.counts;
  databases.set(kind, (databases.get(kind) ?? 0) + 1);
}

async function pause({ instances }: Installation, random: Random, state: Disturbances) {
  const isLong = random.below(100) < LONG_STOP_PERCENT;
  const ms = isLong ? LONG_STOP_MS : random.below(SHORT_STOP_MS);
  if (await pick(random, instances).pause(ms)) state.counts.paused++;
}

async function failGateway(installation: Installation, random: Random, state: Disturbances) {
  const { sandbox } = installation;
  const count = 1 + random.below(MOST_FAULTS);
  await sandbox.fault(pick(random, GATEWAY_OPERATIONS), pick(random, GATEWAY_FAULTS), { count });
  state.injectedFaults += count;
  await countGatewayFaults(installation, state);
}

/** An injected fault happens at a later call of the operation, or never. */
async function countGatewayFaults({ sandbox }: Installation, state: Disturbances): Promise<void> {
  const remaining: Json[] = await sandbox.control("faults", undefined, "GET");
  const left = remaining.reduce((sum, { count }) => sum + count, 0);
  state.counts.gateway = state.injectedFaults - left;
}

/** From now on, the gateway works. */
export async function endGatewayFaults(
  installation: Installation,
  state: Disturbances,
): Promise<void> {
  await countGatewayFaults(installation, state);
  await installation.sandbox.control("faults", undefined, "DELETE");
}

function pick<T>(random: Random, items: readonly T[]): T {
  return items[random.below(items.length)]!;
}
