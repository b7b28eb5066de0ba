/** Example jobs. */

import type { z } from "@hono/zod-openapi";
import type { Examples } from "../../core/fields/response.ts";
import type { JobSchema } from "./schema.ts";
import { CHARGED, REFUND_RESULTS } from "../../core/payments/examples.ts";

type Job = z.output<typeof JobSchema>;

const QUEUED: Job = {
  id: "0197a3f0-2d58-7b94-8c0e-5f6a1d3b7e28",
  task: "process_charge_async",
  status: "queued",
  attempts: 0,
  result: null,
  error: null,
  created_at: "2026-03-05T04:12:09.114Z",
  updated_at: "2026-03-05T04:12:09.114Z",
};

/** The jobs of asynchronous requests. */
export const QUEUED_JOBS = {
  queued_charge: { summary: "Queued charge", value: QUEUED },
  queued_refund: {
    summary: "Queued refund",
    value: { ...QUEUED, task: "process_refund_async" },
  },
} satisfies Examples<Job>;

const DONE: Job = {
  ...QUEUED,
  status: "succeeded",
  attempts: 1,
  result: { payment: CHARGED.pending_qris.value },
  updated_at: "2026-03-05T04:12:09.790Z",
};

const FAILED: Job = {
  ...QUEUED,
  id: "0197a3ef-90b3-7d07-9e41-0c8b2a6f4d19",
  status: "failed",
  attempts: 1,
  error: "duplicate_order: Order id order-1893 is already in use. Send a new order_id, or retry " +
    "with the original Idempotency-Key.",
  updated_at: "2026-03-05T04:11:52.031Z",
};

export const JOBS = {
  ...QUEUED_JOBS,
  charged: { summary: "Succeeded charge", value: DONE },
  refunded: {
    summary: "Succeeded refund",
    value: { ...DONE, task: "process_refund_async", result: REFUND_RESULTS.part.value },
  },
  failed: { summary: "Failed charge", value: FAILED },
} satisfies Examples<Job>;

export const JOB_PAGE = {
  page: {
    summary: "Two jobs",
    value: [
      {
        ...QUEUED,
        id: "0197a3f1-0c6e-7f35-8a97-4b2d6e8c1f50",
        task: "check_payment_status",
        status: "running",
        attempts: 1,
      },
      FAILED,
    ],
  },
} satisfies Examples<Job[]>;
