/** Example of the service status. */

import type { z } from "@hono/zod-openapi";
import type { Examples } from "../../core/fields/response.ts";
import { VERSION } from "../../openapi/document.ts";
import type { StatusSchema } from "./schemas.ts";

type Status = z.output<typeof StatusSchema>;

export const STATUSES = {
  one_failure: {
    summary: "Healthy, with one failed job",
    value: {
      version: VERSION,
      build: "4e336d95a1c0f7be2d3c5a6978e0b1c2d3e4f506",
      started_at: "2026-03-01T00:00:04.310Z",
      database: "up",
      gateway: "ok",
      gateway_reads: "ok",
      gateway_writes: "ok",
      leases: "lock",
      clock: { is_accurate: true, database_offset_seconds: 0, gateway_offset_seconds: 0 },
      jobs: {
        queued: 3,
        running: 1,
        failed: 1,
        oldest_queued_seconds: 2,
        by_task: [
          { task: "check_payment_status", queued: 2, running: 1, failed: 1 },
          { task: "deliver_webhooks", queued: 1, running: 0, failed: 0 },
        ],
        last_failures: [{
          id: "0197a3f1-0c6e-7f35-8a97-4b2d6e8c1f50",
          task: "check_payment_status",
          error: "gateway_timeout: The gateway did not respond in time",
          failed_at: "2026-03-05T02:47:10.003Z",
        }],
      },
      schedule: [
        run("check_pending_payments", "*/5 * * * *", "2026-03-05T04:10:00", 12),
        run("expire_stale_payments", "*/10 * * * *", "2026-03-05T04:10:00", 1),
      ],
      events: { unpublished: 0, oldest_unpublished_seconds: null },
      outbox: { waiting_deliveries: 0, oldest_event_seconds: null },
      webhooks: { pending: 1, oldest_pending_seconds: 4, disabled_endpoints: 0 },
      notifications: { received: 0, oldest_received_seconds: null, failed: 0 },
      unanswered: { payments: 1, invoices: 0, subscriptions: 0 },
      ownerless: { paid_payments: 0 },
      checkouts: { paid_twice: 0, paid_late: 0 },
      load: { event_loop_delay_ms: 4, rejected_requests: 0 },
      unrecognized: { payments: 0, examples: [] },
      contradictions: { count: 0, examples: [] },
      missing_notifications: {
        is_detected: false,
        since: null,
        paid_payments: 42,
        without_notification: 1,
        last_notification_at: "2026-03-05T04:11:52.430Z",
        likely_reason: null,
        doctor_url: null,
      },
      attention: [{ cause: "jobs_failed", since: "2026-03-05T02:48:00.020Z" }],
    },
  },
} satisfies Examples<Status>;

function run(task: string, cron: string, at: string, result: number): Status["schedule"][number] {
  return {
    task,
    cron,
    status: "succeeded",
    started_at: `${at}.021Z`,
    finished_at: `${at}.187Z`,
    result,
    error: null,
    is_overdue: false,
  };
}
