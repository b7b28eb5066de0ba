/** `readCheckoutStats`: figures of checkouts by the interval in which they were created. */

import type { Database } from "../../db/connection/database.ts";
import { countCheckouts } from "../../db/reports/checkout_stats.ts";
import type { Caller } from "../auth/caller.ts";
import { invalidField } from "../errors.ts";
import { firstIdAt } from "../ids.ts";
import { formatMoney } from "../money.ts";
import { ownerFor } from "../records/read.ts";
import type { Clock } from "../time/clock.ts";
import { type RangeInput, readRange, successRate } from "./range.ts";

export type CheckoutStatsView = Awaited<ReturnType<typeof readCheckoutStats>>;

/** Three months in any time zone. The checkouts are counted for each request. */
const MAX_DAYS = 93;

const DAY_MS = 24 * 60 * 60_000;

export async function readCheckoutStats(
  { database, clock }: { database: Database; clock: Clock },
  caller: Caller,
  input: RangeInput,
) {
  const { from, to, interval, starts, edges } = readRange(input, clock());
  if (to.getTime() - from.getTime() > MAX_DAYS * DAY_MS) {
    throw invalidField(
      "from",
      `must be at most ${MAX_DAYS} days before to; request a longer range in parts`,
    );
  }
  const ids = edges.map(firstIdAt);
  const query = { owner: ownerFor(caller), firstIds: ids.slice(0, -1), endId: ids.at(-1)! };
  const rows = await database.query((sql) => countCheckouts(sql, query), "count checkouts");
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    interval,
    time_zone: input.time_zone,
    rows: rows.map(({ interval_index, gross_amount, ...counts }) => ({
      start: starts[interval_index]!.toISOString(),
      ...counts,
      success_rate: successRate(counts.paid_count, counts.count),
      gross_amount: formatMoney(gross_amount),
    })),
  };
}
