/** `/stats/…`: figures by time; here those of payments. */

import { createRoute, z } from "@hono/zod-openapi";
import type { Clock } from "../../core/time/clock.ts";
import { list, oneOf } from "../../core/fields/input.ts";
import { readPaymentStats, STATS_GROUPS, type StatsView } from "../../core/reports/stats.ts";
import { type Examples, money, nullableText, timestamp } from "../../core/fields/response.ts";
import type { Database } from "../../db/connection/database.ts";
import { unsentExample } from "../../openapi/components.ts";
import { COMMON_ERRORS, problems } from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import { readCheckoutStats } from "../../core/reports/checkout_stats.ts";
import { checkoutStatsRoute } from "./checkouts.ts";
import { RANGE, RANGE_QUERY, START } from "./range.ts";

const StatsRowSchema = z.object({
  start: START,
  payment_type: z.string().optional().openapi({
    description: "Present if `group_by` contains `payment_type`.",
    example: "bank_transfer",
  }),
  bank: nullableText.optional().openapi({
    description: "Present if `group_by` contains `bank`; null: the payments have no bank.",
    example: "bca",
  }),
  transaction_status: z.string().optional().openapi({
    description: "Present if `group_by` contains `transaction_status`: the current status of the " +
      "payments, not the one that they had in the interval.",
    example: "settlement",
  }),
  user_id: nullableText.optional().openapi({
    description: "Present if `group_by` contains `user_id`; null: the payments belong to no user.",
    example: "alice",
  }),
  count: z.int().openapi({
    format: "int64",
    description: "Payments created in the interval.",
    example: 120,
  }),
  paid_count: z.int().openapi({
    format: "int64",
    description: "Those of `count` that were paid, at any time.",
    example: 96,
  }),
  success_rate: z.number().nullable().openapi({
    description: "`paid_count` divided by `count`; null if `count` is 0. In recent intervals it " +
      "still rises, because customers pay later.",
    example: 0.8,
  }),
  gross_amount: money("Amounts paid in the interval.", "14400000.00"),
  refund_amount: money(
    "Amounts of the succeeded refunds that were requested in the interval.",
    "300000.00",
  ),
  chargeback_amount: money("Amounts charged back in the interval, as far as known.", "0.00"),
  net_amount: money(
    "`gross_amount` minus `refund_amount` and `chargeback_amount`. Negative if more was refunded " +
      "and charged back than paid in the interval.",
    "14100000.00",
  ),
  fee_amount: money(
    "Fees of the gateway for the payments in `gross_amount`, as far as compared settlement " +
      "reports name them. Null for users: only staff and viewers see fees.",
    "115200.00",
  ).nullable(),
  payout_amount: money(
    "`net_amount` minus `fee_amount`. Null for users.",
    "13984800.00",
  ).nullable(),
  median_seconds_to_pay: z.number().nullable().openapi({
    description: "Median time from creation to payment, of the payments in `paid_count`; " +
      "accurate to about 5%. Null if none was paid, and if `group_by` contains " +
      "`transaction_status`.",
    example: 95,
  }),
}).openapi("PaymentStatsRow", { description: "Figures of one interval, and of one group." });

const StatsSchema = z.object({
  as_of: timestamp("All changes until this time are included."),
  ...RANGE,
  group_by: z.array(z.enum(STATS_GROUPS)).openapi({
    description: "The `group_by` of the request.",
    example: ["payment_type"],
  }),
  rows: z.array(StatsRowSchema).openapi({
    description: "Sorted by `start`, then by group. Intervals and groups whose figures are all 0 " +
      "are absent.",
  }),
}).openapi("PaymentStats", { description: "Figures of payments by time." });

const ROW = {
  start: "2026-03-04T17:00:00.000Z",
  count: 120,
  paid_count: 96,
  success_rate: 0.8,
  gross_amount: "14400000.00",
  refund_amount: "300000.00",
  chargeback_amount: "0.00",
  net_amount: "14100000.00",
  fee_amount: "115200.00",
  payout_amount: "13984800.00",
  median_seconds_to_pay: 95,
};

const STATS = {
  by_day: {
    summary: "One day in Jakarta",
    value: {
      as_of: "2026-03-06T02:15:00.000Z",
      from: "2026-03-04T17:00:00.000Z",
      to: "2026-03-05T17:00:00.000Z",
      interval: "day",
      time_zone: "Asia/Jakarta",
      group_by: [],
      rows: [ROW],
    },
  },
  by_bank: {
    summary: "One day in Jakarta, by bank",
    value: {
      as_of: "2026-03-06T02:15:00.000Z",
      from: "2026-03-04T17:00:00.000Z",
      to: "2026-03-05T17:00:00.000Z",
      interval: "day",
      time_zone: "Asia/Jakarta",
      group_by: ["bank"],
      rows: [{ ...ROW, bank: "bca" }],
    },
  },
} satisfies Examples<StatsView>;

const statsRoute = createRoute({
  method: "get",
  path: "/stats/payments/",
  operationId: "getPaymentStats",
  summary: "Get payment statistics",
  description:
    "Returns figures of your payments by hour, day, week or month; staff and viewers get those of " +
    "all users. Counts belong to the interval in which the payments were created. Amounts belong " +
    "to the interval in which they were paid, in which the refund was requested, or in which they " +
    "were charged back: a refund that is requested in April does not change the amounts of " +
    "March. A pending refund is not included; when the bank makes it, it is added to the " +
    "interval of the request. If a paid payment is cancelled, or reversed by the bank or store, " +
    "it no longer counts as paid: its amount is removed from the interval in which it was " +
    "paid.\n\n" +
    "The figures are updated every minute, and include all changes until `as_of`. For single " +
    "payments, use `GET /exports/payments/`. While the service counts all payments for the first " +
    "time, the error is `unavailable`. Invalid parameters, more than 1,000 intervals or more than " +
    "5,000 rows are a `validation_error`.",
  tags: ["Reports"],
  request: {
    query: z.object({
      ...RANGE_QUERY,
      group_by: z.preprocess(
        (sent) => typeof sent === "string" ? [sent] : sent,
        list(oneOf(STATS_GROUPS), STATS_GROUPS.length).optional(),
      ).openapi({
        type: "array",
        items: { type: "string", enum: [...STATS_GROUPS] },
        description: "Separate figures for each value of this field. Repeat the parameter to " +
          "group by several fields. `user_id` is for staff and viewers; for other callers it is " +
          "`forbidden`.",
        param: { examples: unsentExample(["payment_type"]) },
      }),
    }),
  },
  responses: {
    200: {
      description: "The figures",
      content: { "application/json": { schema: StatsSchema, examples: STATS } },
    },
    ...problems("forbidden", ...COMMON_ERRORS),
  },
});

export function createStatsRoutes(service: { database: Database; clock: Clock }): Router {
  const router = createRouter();
  router.openapi(statsRoute, async (c) => {
    const { group_by = [], ...query } = c.req.valid("query");
    const input = { ...query, group_by: [...new Set(group_by)] };
    return c.json(await readPaymentStats(service, callerOf(c), input), 200);
  });
  router.openapi(
    checkoutStatsRoute,
    async (c) => c.json(await readCheckoutStats(service, callerOf(c), c.req.valid("query")), 200),
  );
  return router;
}
