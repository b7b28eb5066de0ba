/** Jobs as they are answered with. */

import { z } from "@hono/zod-openapi";
import { JOB_STATUSES } from "../../db/jobs.ts";
import { PaymentSchema, RefundSchema } from "./payment.ts";
import { id, nullableText, timestamp } from "./common.ts";

export const JobSchema = z.object({
  id,
  task: z.string().openapi({ description: "What it does.", example: "process_charge_async" }),
  status: z.enum(JOB_STATUSES).openapi("JobStatus", {
    description: [
      "- `queued`: waits for its turn, or to be tried again",
      "- `running`",
      "- `succeeded`: `result` tells what came of it",
      "- `failed`: given up; `error` tells why",
    ].join("\n"),
    example: "queued",
  }),
  attempts: z.int().openapi({ description: "How often it was begun.", example: 0 }),
  result: z.looseObject({
    payment: PaymentSchema.optional(),
    refund: RefundSchema.optional(),
  }).nullable().openapi({
    description: "What came of it, once it is `succeeded`: `{payment}` of a charge, " +
      "`{payment, refund}` of a refund, as they would have been answered at once; of what staff " +
      "see besides, whatever its task counts.",
    example: null,
  }),
  error: nullableText.openapi({
    description: "Why it failed, or the latest try of it did: a `code` of problems, and words.",
    example: null,
  }),
  created_at: timestamp("When it was asked for."),
  updated_at: timestamp("When it last changed."),
}).openapi("Job", { description: "Something that is done outside of requests." });
