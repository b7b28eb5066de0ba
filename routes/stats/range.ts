/** The query parameters and response members that all statistics by time have. */

import { z } from "@hono/zod-openapi";
import { oneOf, text } from "../../core/fields/input.ts";
import { timestamp } from "../../core/fields/response.ts";
import { STATS_INTERVALS } from "../../core/reports/stats.ts";
import { unsentExample } from "../../openapi/components.ts";

const TIME_RULE = "A day of the time zone (`2026-03-05`), or a full hour (RFC 3339).";

export const RANGE_QUERY = {
  from: text(40).optional().openapi({
    description: `Start of the range; default: 30 days before \`to\`. ${TIME_RULE}`,
    param: { examples: unsentExample("2026-03-05") },
  }),
  to: text(40).optional().openapi({
    description: `End of the range (exclusive); default: end of the current hour. ${TIME_RULE}`,
    param: { examples: unsentExample("2026-03-06") },
  }),
  interval: oneOf(STATS_INTERVALS).default("day").openapi({
    description: "The length of an interval. Weeks begin on Monday.",
    param: { examples: unsentExample("day") },
  }),
  time_zone: text(60).default("Asia/Jakarta").openapi({
    description: "Days, weeks and months begin at midnight in this time zone: a name such as " +
      "`Asia/Makassar`, or `UTC`. It must differ from UTC by whole hours; `Asia/Kolkata`, for " +
      "example, is a `validation_error`.",
    param: { examples: unsentExample("Asia/Makassar") },
  }),
};

/** The range that the figures are about. */
export const RANGE = {
  from: timestamp("Start of the range. The `start` of the first row can be earlier."),
  to: timestamp("End of the range (exclusive)."),
  interval: z.enum(STATS_INTERVALS).openapi({
    description: "The length of an interval.",
    example: "day",
  }),
  time_zone: z.string().openapi({
    description: "Days, weeks and months begin at midnight in this time zone.",
    example: "Asia/Jakarta",
  }),
};

export const START = timestamp(
  "When the interval begins. The first one can begin before `from`; its figures then include " +
    "only the time after `from`.",
);
