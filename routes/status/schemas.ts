/** How the service stands, as it is answered with. */

import { z } from "@hono/zod-openapi";
import { MOST_COUNTED } from "../../db/status.ts";
import { id, nullableText, timestamp } from "../schemas/common.ts";

const BOUND = `Counted up to ${MOST_COUNTED}; ${MOST_COUNTED + 1} stands for more.`;

function count(description: string, example = 0) {
  return z.int().min(0).openapi({ description, example });
}

function seconds(description: string) {
  return z.int().min(0).nullable().openapi({ description, example: null });
}

const jobCounts = {
  queued: count("Waiting for their turn or their time.", 3),
  running: count("Begun and not over.", 1),
  failed: count("Given up, and not deleted yet.", 1),
};

const JobsSchema = z.object({
  ...jobCounts,
  oldest_queued_seconds: seconds("How long the longest has waited since it was its time."),
  by_task: z.array(
    z.object({
      task: z.string().openapi({ description: "What they do.", example: "check_payment_status" }),
      ...jobCounts,
    }),
  ).openapi({ description: "Tasks that have none of these are left out." }),
  last_failures: z.array(z.object({
    id,
    task: z.string().openapi({ description: "What it does.", example: "check_payment_status" }),
    error: nullableText.openapi({
      description: "Why it was given up.",
      example: "GatewayAPIError: The gateway does not answer",
    }),
    failed_at: timestamp("When it was given up."),
  })).openapi({ description: "Of those that were given up, the ten that were made last." }),
}).openapi({
  description:
    `Looks at ${MOST_COUNTED} that wait or run, and at as many that were given up; one more ` +
    "stands for any number.",
});

const TickSchema = z.object({
  task: z.string().openapi({ description: "What it does.", example: "check_pending_payments" }),
  cron: z.string().openapi({ description: "When it runs, in UTC.", example: "*/5 * * * *" }),
  status: z.enum(["never_run", "running", "succeeded", "failed"]).openapi({
    description:
      "Of the last run. One whose instance died in the middle of it stays `running` until the next.",
    example: "succeeded",
  }),
  started_at: timestamp("When the last run began.").nullable(),
  finished_at: timestamp("When it was over.").nullable(),
  // Always there, whatever it is.
  result: z.unknown().refine((value): boolean => value !== undefined).openapi({
    description: "What it came to, such as how many it found; null where there is nothing to tell.",
    example: 12,
  }),
  error: nullableText.openapi({ description: "Why the last run failed.", example: null }),
  is_overdue: z.boolean().openapi({
    description: "It should have begun again: no instance runs the schedule.",
    example: false,
  }),
}).openapi("ScheduledTask", { description: "Something that happens by the clock." });

export const StatusSchema = z.object({
  version: z.string().openapi({ description: "Of the service.", example: "1.0.0" }),
  started_at: timestamp("When the instance that answers was started."),
  database: z.literal("up").openapi({ description: "Where it is not, the answer is 503." }),
  gateway: z.enum(["closed", "open", "half_open"]).openapi({
    description:
      "State of this instance's circuit breaker: calls are made, held back, or tried one at a time",
    example: "closed",
  }),
  jobs: JobsSchema,
  schedule: z.array(TickSchema).openapi({ description: "What happens by the clock." }),
  outbox: z.object({
    waiting_deliveries: count(`Of events, to those who listen. ${BOUND}`),
    oldest_event_seconds: seconds("How long ago the oldest of these events happened."),
  }).openapi({ description: "What is still to be told to those who listen inside." }),
  webhooks: z.object({
    pending: count(`Deliveries to webhook endpoints. ${BOUND}`),
    oldest_pending_seconds: seconds("For how long the oldest of them waits."),
    disabled_endpoints: count("Endpoints that get nothing."),
  }).openapi({ description: "What is still to be sent to webhook endpoints." }),
  notifications: z.object({
    received: count(`Those that the gateway is still to be asked about. ${BOUND}`),
    oldest_received_seconds: seconds("How long ago the oldest of them came."),
  }).openapi({ description: "What the gateway told, and is still to be asked about." }),
  unanswered: z.object({
    payments: count(`Charges without an answer. ${BOUND}`),
    invoices: count(`Creations without an answer. ${BOUND}`),
    subscriptions: count(`Creations and actions without an answer. ${BOUND}`),
  }).openapi({ description: "What the gateway was asked for and has not answered yet." }),
}).openapi("Status", { description: "How the service stands." });
