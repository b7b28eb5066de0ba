/** Response schemas of the service status, and the gateway state that readiness shows as well. */

import { z } from "@hono/zod-openapi";
import { MIN_PAID, MISSING_REASONS } from "../../core/attention/missing_notifications.ts";
import { AttentionCauseSchema } from "../../core/events/attention.ts";
import { MAX_SKEW_MS } from "../../core/time/clock_check.ts";
import { MAX_DELAY_MS } from "../../core/status/load.ts";
import { id, nullableText, timestamp } from "../../core/fields/response.ts";
import { CHECKED_RESOURCES, MAX_COUNTED, STATISTICS } from "../../core/status/status.ts";

export const gatewayState = z.enum(["ok", "recovering", "down"]).openapi({
  description: [
    "State of the gateway as this instance sees it. Reads (status requests) and writes (charges " +
    "and other changes) have separate states; this is the worse of the two:",
    "- `ok`: requests are sent",
    "- `recovering`: one request at a time is sent, to check whether the gateway responds again",
    "- `down`: requests fail immediately without being sent",
  ].join("\n"),
  example: "ok",
});

function callState(description: string) {
  return z.enum(["ok", "recovering", "down"]).openapi({ description, example: "ok" });
}

const BOUND = `Counted up to ${MAX_COUNTED}; ${MAX_COUNTED + 1} means "more than ${MAX_COUNTED}".`;

function count(description: string, example = 0) {
  return z.int().min(0).openapi({ description, example });
}

function seconds(description: string) {
  return z.int().min(0).nullable().openapi({ description, example: null });
}

const jobCounts = {
  queued: count("Jobs waiting to run.", 3),
  running: count("Jobs in progress.", 1),
  failed: count("Failed jobs that are not deleted yet.", 1),
};

const JobsSchema = z.object({
  ...jobCounts,
  oldest_queued_seconds: seconds(
    "Seconds since the oldest waiting job became due.",
  ),
  by_task: z.array(
    z.object({
      task: z.string().openapi({ description: "Task name.", example: "check_payment_status" }),
      ...jobCounts,
    }),
  ).openapi({ description: "Counts per task. Tasks without jobs are omitted." }),
  last_failures: z.array(z.object({
    id,
    task: z.string().openapi({ description: "Task name.", example: "check_payment_status" }),
    error: nullableText.openapi({
      description: "Why the job failed.",
      example: "gateway_timeout: The gateway did not respond in time",
    }),
    failed_at: timestamp("When the job failed."),
  })).openapi({ description: "The ten most recently created failed jobs." }),
}).openapi({
  description: `Background jobs. At most ${MAX_COUNTED + 1} queued and running jobs and at most ` +
    `${MAX_COUNTED + 1} failed jobs are counted; ${MAX_COUNTED + 1} means "more than ` +
    `${MAX_COUNTED}".`,
});

const ScheduledTaskSchema = z.object({
  task: z.string().openapi({ description: "Task name.", example: "check_pending_payments" }),
  cron: z.string().openapi({ description: "Cron expression, in UTC.", example: "*/5 * * * *" }),
  status: z.enum(["never_run", "running", "succeeded", "failed"]).openapi({
    description:
      "Status of the last run. If the instance crashed during that run, the status stays " +
      "`running` until the next run.",
    example: "succeeded",
  }),
  started_at: timestamp("When the last run started.").nullable(),
  finished_at: timestamp("When the last run ended.").nullable(),
  // Without this check the document would list the member as optional.
  result: z.unknown().refine((value): boolean => value !== undefined).openapi({
    description:
      "Result of the last run, such as the number of records it found; null if there is none.",
    example: 12,
  }),
  error: nullableText.openapi({ description: "Why the last run failed.", example: null }),
  is_overdue: z.boolean().openapi({
    description: "True if two runs in a row were missed: no instance runs the schedule.",
    example: false,
  }),
}).openapi("ScheduledTask", { description: "A task that runs on a schedule." });

export const StatusSchema = z.object({
  version: z.string().openapi({ description: "Version of the service.", example: "1.0.0" }),
  build: z.string().nullable().openapi({
    description:
      "Build that the responding instance runs, such as a commit; null if it is unknown.",
    example: "4e336d95a1c0f7be2d3c5a6978e0b1c2d3e4f506",
  }),
  started_at: timestamp("When the responding instance was started."),
  database: z.literal("up").openapi({
    description: "Always `up`; otherwise the response is a 503.",
  }),
  gateway: gatewayState,
  gateway_reads: callState("State of the gateway for reads, such as status requests."),
  gateway_writes: callState("State of the gateway for writes, such as charges."),
  leases: z.enum(["lock", "time"]).openapi({
    description: [
      "How other instances notice that the responding instance has crashed:",
      "- `lock`: by its lock in the database; they take over its idempotency keys and jobs at once",
      "- `time`: the instance has no session connection to the database, so they wait until its " +
      "leases expire, up to 60 seconds for a key and 90 seconds for a job",
    ].join("\n"),
    example: "lock",
  }),
  clock: z.object({
    is_accurate: z.boolean().openapi({
      description:
        `False if two of the clocks differ by more than ${
          MAX_SKEW_MS / 1_000
        } seconds, or if the ` +
        "service's time has just jumped. Synchronize the clocks of the machines.",
      example: true,
    }),
    database_offset_seconds: z.number().openapi({
      description:
        "Seconds by which the clock of the instance's machine is ahead of the database's clock; " +
        "negative if it is behind. Only log lines use the machine's clock.",
      example: 0,
    }),
    gateway_offset_seconds: z.number().nullable().openapi({
      description:
        "Seconds by which the service's time is ahead of the gateway's; negative if it is behind. " +
        "More than five seconds: the instance expires no payments. Null if the gateway has not " +
        "responded to this instance yet.",
      example: 0,
    }),
  }).openapi({
    description: "The clocks. The service's time is the database's; this machine's may differ.",
  }),
  jobs: JobsSchema,
  schedule: z.array(ScheduledTaskSchema).openapi({ description: "Scheduled tasks." }),
  events: z.object({
    unpublished: count(
      `Committed events that lists and streams do not show yet. Usually 0. ${BOUND}`,
    ),
    oldest_unpublished_seconds: seconds(
      "Age of the oldest of these events in seconds. If it grows, no instance publishes events.",
    ),
  }).openapi({ description: "Events in lists and streams." }),
  outbox: z.object({
    waiting_deliveries: count(
      `Unfinished deliveries, each for one resource and one handler. ${BOUND}`,
    ),
    oldest_event_seconds: seconds("Age of the oldest event that is not delivered, in seconds."),
  }).openapi({ description: "Deliveries of events to in-process event handlers." }),
  webhooks: z.object({
    pending: count(`Pending deliveries. ${BOUND}`),
    oldest_pending_seconds: seconds("Age of the oldest pending delivery in seconds."),
    disabled_endpoints: count("Number of disabled endpoints."),
  }).openapi({ description: "Deliveries to webhook endpoints." }),
  notifications: z.object({
    received: count(`Notifications not yet confirmed with the gateway. ${BOUND}`),
    oldest_received_seconds: seconds("Age of the oldest of these in seconds."),
    failed: count(
      "Notifications that could not be confirmed: the gateway did not respond for 7 days, or its " +
        "response was not usable. The service checks their payments again. If a notification " +
        `has no payment, replay it with \`POST /notifications/{pk}/replay/\`. ${BOUND}`,
    ),
  }).openapi({ description: "Notifications from the gateway." }),
  unanswered: z.object({
    payments: count(`Charges with unknown outcome. ${BOUND}`),
    invoices: count(`Invoices whose creation has an unknown outcome. ${BOUND}`),
    subscriptions: count(
      `Subscriptions whose creation or last action has an unknown outcome. ${BOUND}`,
    ),
  }).openapi({ description: "Requests to the gateway whose outcome is unknown." }),
  ownerless: z.object({
    paid_payments: count(
      "Payments of the last 30 days that are paid and belong to no user, invoice or subscription, " +
        "1,000 at most. Another program created them with the same gateway account, or the " +
        "service could not tell which charge created them.",
    ),
  }).openapi({ description: "Payments that only staff and viewers see." }),
  checkouts: z.object({
    paid_twice: count(
      "Checkouts with two paid payments (`extra_payment_id`), of which neither is refunded. " +
        "Refund one of the two. Only those of the last 30 days, 1,000 at most.",
    ),
    paid_late: count(
      "Checkouts that were paid after they had expired or were cancelled (`is_late`), and whose " +
        "payment is not refunded. Deliver the order, or refund the payment. Only those of the " +
        "last 30 days, 1,000 at most.",
    ),
  }).openapi({ description: "Checkouts about which staff have to decide." }),
  load: z.object({
    event_loop_delay_ms: count(
      "Longest delay of the event loop in the last ten seconds, in milliseconds. If " +
        `it stays above ${MAX_DELAY_MS} for some seconds, a share of callers' requests gets 503.`,
      4,
    ),
    rejected_requests: count(
      "Callers' requests that got 503 because of such delays, since the instance started.",
    ),
  }).openapi({ description: "Load of the responding instance." }),
  unrecognized: z.object({
    payments: count(`Payments with a status at the gateway that is new to the service. ${BOUND}`),
    examples: z.array(z.object({
      payment_id: id.openapi({ description: "Id of the payment." }),
      gateway_status: z.string().openapi({
        description: "The status at the gateway.",
        example: "partial_settlement",
      }),
    })).openapi({ description: "At most ten of these payments." }),
  }).openapi({
    description:
      "Payments whose status at the gateway is one that the service does not know. They " +
      "keep their last known status, and are checked until the gateway reports a known one.",
  }),
  contradictions: z.object({
    count: count(`Contradictions between stored records. ${BOUND}`),
    examples: z.array(z.object({
      resource: z.enum([...CHECKED_RESOURCES, STATISTICS]).openapi({
        description: "The kind of record.",
        example: "payment",
      }),
      resource_id: id.openapi({
        description: "Id of the record. Of statistics: the smallest id that a payment of the " +
          "hour can have.",
      }),
      invariant: z.string().openapi({
        description: "What should be true of the record.",
        example: "refunds_within_captured",
      }),
      found_at: timestamp("When the service found it."),
    })).openapi({ description: "The newest ten." }),
  }).openapi({
    description: "Stored records that contradict each other, such as refunds above the captured " +
      "amount. The service checks changed records every minute, and all records within a day.",
  }),
  missing_notifications: z.object({
    is_detected: z.boolean().openapi({
      description:
        "True if half or more of the notifications that were expected in the last hour did " +
        `not arrive. With fewer than ${MIN_PAID} expected, it does not become true, and becomes ` +
        "false only after an hour with payments in which every notification arrived.",
      example: false,
    }),
    since: timestamp(
      "When the service first found a payment paid whose notification did not arrive; null if " +
        "notifications arrive.",
    ).nullable().openapi({
      example: null,
    }),
    paid_payments: count(
      "Payments of the last hour for which the service expected a notification. At most the newest 500 of each payment type, without those of the last minute.",
      42,
    ),
    without_notification: count("Those of them whose notification did not arrive."),
    last_notification_at: timestamp("When the gateway's last notification arrived.").nullable(),
    likely_reason: z.union([z.enum(MISSING_REASONS), z.null()]).openapi({
      description: [
        "- `none_arrive`: no notification at all arrived in the last hour: the notification URL is " +
        "wrong, redirects or belongs to another service, a firewall refuses the gateway, or the " +
        "certificate is not valid",
        "- `some_arrive`: others arrived: a part of the payments has another notification URL, or " +
        "a proxy refuses some notifications",
        "- null: notifications arrive",
      ].join("\n"),
      example: null,
    }),
    doctor_url: nullableText.openapi({
      description: "The page of the console that finds out why notifications do not arrive; null " +
        "if they do, or without `PUBLIC_URL`.",
      example: null,
    }),
  }).openapi({ description: "Whether the gateway's notifications arrive." }),
  attention: z.array(z.object({
    cause: AttentionCauseSchema,
    since: timestamp("When it started."),
  })).openapi({
    description: "What needs the attention of staff, as in the events `attention_raised` and " +
      "`attention_cleared`. Checked every minute.",
  }),
}).openapi("Status", { description: "Status of the service." });
