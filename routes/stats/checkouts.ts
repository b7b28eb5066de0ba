/** `GET /stats/checkouts/`: figures of checkouts by time. */

import { createRoute, z } from "@hono/zod-openapi";
import { type Examples, money } from "../../core/fields/response.ts";
import type { CheckoutStatsView } from "../../core/reports/checkout_stats.ts";
import { COMMON_ERRORS, problems } from "../../http/problems/responses.ts";
import { RANGE, RANGE_QUERY, START } from "./range.ts";

const count = (description: string, example: number) =>
  z.int().openapi({ format: "int64", description, example });

const CheckoutStatsRowSchema = z.object({
  start: START,
  count: count("Checkouts created in the interval.", 120),
  paid_count: count("Those of `count` that were paid, at any time.", 96),
  expired_count: count("Those of `count` that have expired.", 18),
  cancelled_count: count("Those of `count` that were cancelled.", 4),
  success_rate: z.number().nullable().openapi({
    description: "`paid_count` divided by `count`; null if `count` is 0. In recent intervals it " +
      "still rises, because customers pay later.",
    example: 0.8,
  }),
  gross_amount: money("Amounts of the checkouts in `paid_count`.", "14400000.00"),
}).openapi("CheckoutStatsRow", { description: "Figures of one interval." });

const CheckoutStatsSchema = z.object({
  ...RANGE,
  rows: z.array(CheckoutStatsRowSchema).openapi({
    description: "Sorted by `start`. Intervals in which no checkout was created are absent.",
  }),
}).openapi("CheckoutStats", { description: "Figures of checkouts by time." });

const STATS = {
  by_day: {
    summary: "One day in Jakarta",
    value: {
      from: "2026-03-04T17:00:00.000Z",
      to: "2026-03-05T17:00:00.000Z",
      interval: "day",
      time_zone: "Asia/Jakarta",
      rows: [{
        start: "2026-03-04T17:00:00.000Z",
        count: 120,
        paid_count: 96,
        expired_count: 18,
        cancelled_count: 4,
        success_rate: 0.8,
        gross_amount: "14400000.00",
      }],
    },
  },
} satisfies Examples<CheckoutStatsView>;

export const checkoutStatsRoute = createRoute({
  method: "get",
  path: "/stats/checkouts/",
  operationId: "getCheckoutStats",
  summary: "Get checkout statistics",
  description:
    "Returns figures of your checkouts by hour, day, week or month; staff and viewers get those of " +
    "all users. All figures, including the amounts, belong to the interval in which the checkouts " +
    "were created, and show their current state. Refunds change nothing.\n\n" +
    "The checkouts are counted for each request. A range of more than 93 days, more than 1,000 " +
    "intervals and invalid parameters are a `validation_error`. If there are so many checkouts " +
    "that counting them takes too long, the error is `unavailable`: request a shorter range.",
  tags: ["Reports"],
  request: { query: z.object(RANGE_QUERY) },
  responses: {
    200: {
      description: "The figures",
      content: { "application/json": { schema: CheckoutStatsSchema, examples: STATS } },
    },
    ...problems(...COMMON_ERRORS),
  },
});
