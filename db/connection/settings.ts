/** The PostgreSQL settings with which the statements of the service run. */

/**
 * Every statement of the service reads few rows by an index that exists for it, so plans must not
 * depend on statistics: those are missing or old while a table grows, and a plan is kept until the
 * next ANALYZE. Each pair of numbers says how many rows PostgreSQL 18 reads with a setting and
 * without it, if every table has 200,000 rows; "grown" means planned when the tables had 10 rows.
 * `tests/db/planner_test.ts` checks the most important statements.
 */
export const PLANNER_SETTINGS = {
  // Plans a statement once per connection, not again for each set of values.
  plan_cache_mode: "force_generic_plan",
  // The most important one. Without it, grown: nearly every statement scans whole tables (a page of
  // payments: 40 and 200,000), and findDueDeliveries and paymentLookups exceed their time limit.
  // Without it, the statement that reads events for followers scans the whole table even if
  // statistics are new.
  enable_seqscan: "off",
  // A page of one user's payments of one status: 6 and 400, which is all of that user's payments.
  enable_incremental_sort: "off",
  // The same list, while statistics are old: 6 and 400. The default, 4, is meant for hard disks.
  random_page_cost: 1.1,
  // Grown: an update of one payment joins its JSON parameter to the table: 2 and 400,000 by a hash
  // join; an update of 64 payments: 126 and 12,224 by a merge join.
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  // Grown: the outcomes of 100 jobs take 11 ms; without this, more than 3 s, because PostgreSQL
  // materializes a table and scans it again and again.
  enable_material: "off",
  // No difference in 18. Before 18 a disabled plan node adds 10^10 to the cost of a plan.
  // PostgreSQL would then compile the plan, which takes seconds, for a statement that takes
  // milliseconds.
  jit: "off",
} as const;

/**
 * How long a call of the database may take by default. Callers get "unavailable" within 2 s; the
 * remaining 200 ms are for the rest of the request. An object, read at each use, so that a module
 * that is loaded before `main.ts` (`--preload`) can raise it: tests do, because a busy machine is
 * slower.
 */
export const DEADLINE = { ms: 1_800 };

/** The server cancels a slow statement this long before its caller gives up. */
const CANCEL_MS = 300;

/** After this time the server ends the transaction of a frozen instance and releases its locks. */
const IDLE_IN_TRANSACTION_MS = 10_000;

/**
 * The settings of each connection of the pool; through a pooler, of each transaction. `deadlineMs`
 * is the deadline of the pool's calls.
 */
export function poolSettings(deadlineMs = DEADLINE.ms) {
  return {
    statement_timeout: deadlineMs - CANCEL_MS,
    idle_in_transaction_session_timeout: Math.max(IDLE_IN_TRANSACTION_MS, deadlineMs),
    ...PLANNER_SETTINGS,
  };
}
