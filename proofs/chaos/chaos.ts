/** A run: merchants and customers act while everything is disturbed; then all is judged. */

import { setTimeout as delay } from "node:timers/promises";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import { findAllContradictions } from "../contradictions.ts";
import {
  createDisturbances,
  disturb,
  type Disturbances,
  endGatewayFaults,
  endOutage,
  haveAllHappened,
  kills,
} from "./disturb.ts";
import { endRun } from "./end.ts";
import type { Difference, History } from "./history.ts";
import type { Installation } from "./installation.ts";
import { judge } from "./judge/judge.ts";
import { createMerchant } from "./merchant.ts";
import { placeOrder, type Shop } from "./orders.ts";

export interface ChaosOptions {
  seed: number;
  /**
   * The run ends after this many kills or failovers and at least one disturbance of each kind, or
   * after this many minutes.
   */
  kills: number;
  minutes: number;
  /** Gets all records; has them also if the run fails. */
  history?: History;
  /** Called about once a second, and more often at the end. */
  onProgress?: (progress: Progress) => void;
}

export interface Progress {
  kills: number;
  orders: number;
  seconds: number;
  /** What is done after the last kill; null: the run goes on. */
  end: string | null;
}

export interface ChaosResult {
  seed: number;
  history: History;
  differences: Difference[];
  disturbances: Disturbances;
  seconds: number;
}

/** More would wait for the processor of a small machine, and not for the service. */
const CUSTOMERS = 6;

const PROGRESS_MS = 1_000;

export async function runChaos(
  installation: Installation,
  options: ChaosOptions,
): Promise<ChaosResult> {
  const { seed, history = emptyHistory() } = options;
  const randomFor = (part: number) => createRandom(seededState(Math.imul(seed, 31) + part));
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1_000;
  const disturbances = createDisturbances();
  let hasFailed = false;
  const isOver = () =>
    hasFailed || seconds() >= 60 * options.minutes ||
    (kills(disturbances) >= options.kills && haveAllHappened(disturbances, installation));
  const showProgress = (end: string | null) => {
    const orders = history.orders.length;
    options.onProgress?.({ kills: kills(disturbances), orders, seconds: seconds(), end });
  };
  const shopFor = (customer: number) =>
    openShop(installation, history, disturbances, randomFor(customer));

  async function serveCustomers(customer: number): Promise<void> {
    const shop = shopFor(customer);
    while (!isOver()) await placeOrder(shop, history.orders.length);
  }

  async function repeatProgress(): Promise<void> {
    while (!isOver()) {
      showProgress(null);
      await delay(PROGRESS_MS);
    }
  }

  const customers = Array.from({ length: CUSTOMERS }, (_, index) => serveCustomers(index));
  const disturbing = disturb(installation, randomFor(-1), disturbances, isOver);
  await untilAllEnd([...disturbing, repeatProgress(), ...customers], () => hasFailed = true);
  endOutage(disturbances);
  await endGatewayFaults(installation, disturbances);
  const { merchant } = shopFor(CUSTOMERS);
  const found = await endRun({ installation, history, merchant, onProgress: showProgress });
  return {
    seed,
    history,
    differences: [...judge(history), ...found, ...await findOtherDifferences(installation)],
    disturbances,
    seconds: seconds(),
  };
}

/** If one fails, `onFailure` ends the others; only then may what they use be disposed. */
async function untilAllEnd(loops: Promise<void>[], onFailure: () => void): Promise<void> {
  for (const loop of loops) loop.catch(onFailure);
  const results = await Promise.allSettled(loops);
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}

function openShop(
  { instances, staffKey, sandbox }: Installation,
  history: History,
  disturbances: Disturbances,
  random: Shop["random"],
): Shop {
  const merchant = createMerchant({
    urls: instances.map(({ url }) => url),
    key: staffKey,
    random,
    onCall: (call) => history.calls.push(call),
    onAcknowledged({ startedAt }) {
      if (startedAt >= (disturbances.databaseDownSince ?? Infinity)) endOutage(disturbances);
    },
  });
  return {
    merchant,
    sandbox,
    random,
    onOrder: (order) => history.orders.push(order),
    onAct: (act) => history.acts.push(act),
  };
}

export function emptyHistory(): History {
  return {
    orders: [],
    calls: [],
    acts: [],
    transactions: [],
    payments: [],
    events: [],
    deliveries: [],
  };
}

/** Broken rules that concern no order. */
async function findOtherDifferences(
  { courier, serviceFindings, database }: Installation,
): Promise<Difference[]> {
  const difference = (rule: string, text: string): Difference => ({ rule, orderId: null, text });
  return [
    ...courier.wrongAnswers.map((text) =>
      difference("each notification gets the right answer", text)
    ),
    ...serviceFindings.differences(),
    ...(await findAllContradictions(database.url))
      .map((text) => difference("records do not contradict each other", text)),
  ];
}
