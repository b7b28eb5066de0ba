/** What the events `attention_raised` and `attention_cleared` are about: causes for attention. */

import { z } from "@hono/zod-openapi";
import { id, nullableText, timestamp } from "../fields/response.ts";

/** They are stored and part of the API: never rename one. */
export const ATTENTION_CAUSES = [
  "notifications_missing",
  "outcomes_unknown",
  "payments_ownerless",
  "payments_unrecognized",
  "checkouts_paid_twice",
  "checkouts_paid_late",
  "report_differences",
  "notifications_failed",
  "webhook_endpoints_failing",
  "jobs_failed",
  "invariants_violated",
] as const;

export type AttentionCause = (typeof ATTENTION_CAUSES)[number];

export const AttentionCauseSchema = z.enum(ATTENTION_CAUSES).openapi("AttentionCause", {
  description: [
    "- `notifications_missing`: the service found at least half of the payments of the last hour " +
    "paid by asking the gateway; their notifications did not arrive",
    "- `outcomes_unknown`: the gateway has not said for 20 minutes or more whether it executed a " +
    "charge, a refund, or a request about an invoice or a subscription",
    "- `payments_ownerless`: paid payments belong to no user, invoice or subscription",
    "- `payments_unrecognized`: the gateway reports a status that the service does not know",
    "- `checkouts_paid_twice`, `checkouts_paid_late`: staff have to refund or deliver",
    "- `report_differences`: a report of the gateway differs from the stored payments",
    "- `notifications_failed`: the service gave up confirming notifications",
    "- `webhook_endpoints_failing`: all attempts to an endpoint have failed for 30 minutes or " +
    "more, or the service has disabled it",
    "- `jobs_failed`: jobs failed permanently",
    "- `invariants_violated`: stored records contradict each other; `GET /status/` lists them in " +
    "`contradictions`",
  ].join("\n"),
  example: "notifications_missing",
});

export const AttentionSchema = z.object({
  id: id.openapi({
    description: "Id of the cause. All events about the same cause have it: filter " +
      "`GET /events/` by it with `resource_id`.",
  }),
  cause: AttentionCauseSchema,
  is_raised: z.boolean().openapi({
    description: "Whether it needs attention; false with `attention_cleared`.",
    example: true,
  }),
  title: z.string().openapi({
    description: "What is wrong, in English.",
    example: "Notifications of the gateway do not arrive",
  }),
  next_step: z.string().openapi({
    description: "What to do about it, in English.",
    example: "Run `deno task doctor` or open the page Doctor of the console: it names the fault.",
  }),
  count: z.int().min(0).openapi({
    description:
      "How many payments, jobs or other records it is about. 101 means more than 100, for most causes. " +
      "0 with `attention_cleared`.",
    example: 12,
  }),
  since: timestamp("Since when it needs attention, or needed it."),
  cleared_at: timestamp("With `attention_cleared`: when the service noticed that it is over.")
    .nullable(),
  console_url: nullableText.openapi({
    description: "The page of the console that shows it; null without `PUBLIC_URL`.",
    example: "https://pay.shop.example/console/doctor/",
  }),
}).openapi("Attention", { description: "A cause for attention." });

export type AttentionView = z.output<typeof AttentionSchema>;
