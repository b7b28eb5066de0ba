/**
 * Fills the embedded default with a year of a shop. Nothing is written past the service: the
 * sandbox's clock is set back by a year, the service takes its time from the sandbox, and then the
 * year happens, with requests to the API, customers who pay in the sandbox, and its notifications.
 */

import type { Addresses } from "./calls.ts";
import { createDice, type Dice } from "./customers.ts";
import { createShop, type Shop, type Work } from "./shop.ts";

export interface FillOptions extends Addresses {
  /** The year that ends now; fewer days for tests. */
  days: number;
  now: number;
  onProgress(percent: number): void;
  /** Something did not work; the rest of the year still happens. */
  onFailure(error: unknown): void;
}

const DAY = 86_400_000;
const HOUR = 3_600_000;
const MINUTE = 60_000;

/**
 * When things happen, in Jakarta: once before and once after noon, within these hours. More often
 * would take longer: the time that a step takes hardly depends on how much happens in it.
 */
const HOURS = [{ from: 8, to: 13 }, { from: 15, to: 22 }];

/** Orders of the last hour that the customers have not paid yet. */
const OPEN_ORDERS = 3;

export interface FillResult {
  /** How many orders, payments, refunds and so on were tried, and how many of them failed. */
  tried: number;
  failed: number;
}

/** Each day of the demo. The clock only moves forward, so each step is later than the last. */
export async function fillYear(options: FillOptions): Promise<FillResult> {
  const { days, now, onProgress, onFailure } = options;
  const dice = createDice(2026);
  const shop = createShop(options, dice, now);
  const result = { tried: 0, failed: 0 };
  const countFailure = (error: unknown) => {
    result.failed++;
    onFailure(error);
  };
  const runAll = (work: Work[]) => {
    result.tried += work.length;
    return Promise.all(work.map((run) => run().catch(countFailure)));
  };
  const lastMidnight = Math.floor((now + 7 * HOUR) / DAY) * DAY - 7 * HOUR;
  for (let day = days; day >= 0; day--) {
    const midnight = lastMidnight - day * DAY;
    for (const { from, to } of HOURS) {
      const at = midnight + dice.between(from * 60, to * 60) * MINUTE;
      if (at > now - HOUR) break;
      await shop.moveClock(at);
      await runAll(planStep(shop, dice, { at, progress: 1 - day / days, isMorning: to < 14 }));
      // Most customers pay within minutes.
      const soon = at + dice.between(30, 240) * 1_000;
      await shop.moveClock(soon);
      await runAll(shop.takeDue(soon));
    }
    onProgress(Math.round(100 * (days - day) / (days + 1)));
  }
  await runLastHour();
  return result;

  /** So that today has figures, and some payments are pending. */
  async function runLastHour(): Promise<void> {
    const at = now - 30 * MINUTE;
    await shop.moveClock(at);
    const open = Array.from({ length: OPEN_ORDERS }, () => shop.planOpenOrder());
    await runAll([...planStep(shop, dice, { at, progress: 1, isMorning: false }), ...open]);
    const soon = at + 2 * MINUTE;
    await shop.moveClock(soon);
    await runAll(shop.takeDue(soon));
  }
}

interface Step {
  at: number;
  /** From 0, at the beginning of the year, to 1: the shop grows. */
  progress: number;
  isMorning: boolean;
}

/** What happens in a few hours: what was planned before, and new orders. */
function planStep(shop: Shop, dice: Dice, { at, progress, isMorning }: Step): Work[] {
  const date = new Date(at + 7 * HOUR);
  const isWeekend = [0, 6].includes(date.getUTCDay());
  const isPayday = date.getUTCDate() >= 25;
  const rate = (0.9 + 1.4 * progress) * (isWeekend ? 1.4 : 1) * (isPayday ? 1.3 : 1);
  const orders = Math.floor(rate) + (dice.chance(rate % 1) ? 1 : 0);
  const work = shop.takeDue(at);
  for (let n = 0; n < orders; n++) work.push(shop.planOrder(at));
  if (!isMorning) return work;
  if (dice.chance(0.45)) work.push(shop.planInvoice(at));
  // Also on the first day, so that even a few weeks have one.
  if (dice.chance(0.05) || progress === 0) work.push(shop.planSubscription(at));
  if (date.getUTCDate() === 2) work.push(() => shop.reconcileMonthBefore(at));
  return work;
}
