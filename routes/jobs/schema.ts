/** Response schema of jobs. */

import { z } from "@hono/zod-openapi";
import { JOB_STATUSES } from "../../core/jobs/read.ts";
import { PaymentSchema, RefundSchema } from "../../core/payments/schema.ts";
import { id, nullableText, timestamp } from "../../core/fields/response.ts";

export const JobSchema = z.object({
  id,
  task: z.string().openapi({
    description: "Name of the task that the job runs.",
    example: "process_charge_async",
  }),
  status: z.enum(JOB_STATUSES).openapi("JobStatus", {
    description: [
      "- `queued`: waiting to run, or to be retried",
      "- `running`: in progress",
      "- `succeeded`: see `result`",
      "- `failed`: no more retries; see `error`",
    ].join("\n"),
    example: "queued",
  }),
  attempts: z.int().openapi({
    description: "Number of attempts. A run that was postponed is not counted.",
    example: 0,
  }),
  result: z.looseObject({
    payment: PaymentSchema.optional(),
    refund: RefundSchema.optional(),
  }).nullable().openapi({
    description:
      "Result of a succeeded job: `{payment}` for a charge and `{payment, refund}` for a refund, " +
      "as in the synchronous response. The results of other tasks, which only staff and viewers " +
      "can read, depend on the task.",
    example: null,
  }),
  error: nullableText.openapi({
    description: "Why the job, or its last attempt, failed: an error `code` and a message.",
    example: null,
  }),
  created_at: timestamp("When the job was created."),
  updated_at: timestamp("When the job last changed."),
}).openapi("Job", { description: "Work that runs in the background." });
