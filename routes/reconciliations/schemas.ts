/** How the API shows reconciliations and their differences, with examples. */

import { z } from "@hono/zod-openapi";
import { oneOf } from "../../core/fields/input.ts";
import {
  DIFFERENCES,
  type DifferenceView,
  RECONCILIATION_STATUSES,
  type ReconciliationSummaryView,
  type ReconciliationView,
} from "../../core/reports/reconciliations.ts";
import { TAKE_OVER_MISSING } from "../../core/reports/take_over.ts";
import { LINE_KINDS, REPORT_COLUMNS } from "../../core/reports/report_file.ts";
import { type Examples, id, money, nullableText, timestamp } from "../../core/fields/response.ts";
import { QUEUED_JOBS } from "../jobs/examples.ts";

const count = (description: string) =>
  z.int().openapi({ format: "int64", description, example: 3 });

export const ReconciliationSchema = z.object({
  id,
  job_id: z.uuid().openapi({
    description: "The job that compares the file; `GET /jobs/{pk}/` shows its progress.",
    example: "0197a3c4-7b1e-7c55-8a3d-3c1f0e9b5d20",
  }),
  user_id: z.string().openapi({ description: "Who uploaded the file.", example: "carol" }),
  status: z.enum(RECONCILIATION_STATUSES).openapi("ReconciliationStatus", {
    description: [
      "- `queued`: the file is stored",
      "- `running`: its lines are being compared",
      "- `succeeded`: see `results`",
    ].join("\n"),
    example: "succeeded",
  }),
  lines: count("Lines of the file, without the header."),
  first_day: z.iso.date().nullable().openapi({
    description: "The first day in the file (Jakarta); null if the file has no times.",
    example: "2026-03-05",
  }),
  last_day: z.iso.date().nullable().openapi({
    description: "The last day in the file (Jakarta); null if the file has no times.",
    example: "2026-03-05",
  }),
  results: z.object({
    matched: count("Lines that agree."),
    amount_differs: count("Lines whose amount differs."),
    status_differs: count("Lines whose payment or refund has another state here."),
    listed_twice: count(
      "Lines about the same settlement, refund, chargeback or status as an earlier line, or about a " +
        "settlement, refund or chargeback that another file has listed.",
    ),
    missing_here: count("Lines without a payment or refund here."),
    missing_there: count(
      "Payments that were settled on the days of the file, but are not in it; null if the file " +
        "has no settlement times.",
    ).nullable(),
  }).nullable().openapi({ description: "Null until `status` is `succeeded`." }),
  columns: z.array(z.enum(REPORT_COLUMNS)).nullable().openapi({
    description: "The columns that the service found in the file. Null if the file has no lines.",
    example: ["order_id", "transaction_id", "amount", "fee", "net", "time"],
  }),
  days: z.array(z.object({
    date: z.iso.date().nullable().openapi({
      description: "A day in Jakarta; null: lines without a time.",
      example: "2026-03-05",
    }),
    lines: count("Lines of the day."),
    gross_amount: money("Settlements minus refunds and chargebacks.", "194000.00"),
    fee: money(
      "Sum of the fees, without unpaid lines; `0.00` if `columns` has no `fee`.",
      "1760.00",
    ),
    net_amount: money(
      "Sum of the net amounts, those of refunds and chargebacks taken off; `0.00` if `columns` has " +
        "no `net`.",
      "192240.00",
    ),
  })).nullable().openapi({ description: "Sums of the file; null until it is compared." }),
  open_differences: count(
    "Differences that are not marked as resolved; null until `status` is `succeeded`.",
  ).nullable(),
  queued_checks: count("Payments with a difference that are checked at the gateway."),
  created_at: timestamp("When the file was uploaded."),
  finished_at: timestamp("When it was compared; null until then.").nullable(),
}).openapi("Reconciliation", {
  description: "A report of the gateway, compared with the payments here.",
});

export const ReconciliationSummarySchema = ReconciliationSchema.omit({ columns: true, days: true })
  .openapi("ReconciliationSummary", {
    description: "A reconciliation in a list, without its columns and the sums by day.",
  });

const QUEUED: ReconciliationView = {
  id: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  job_id: "0197a3c4-7b1e-7c55-8a3d-3c1f0e9b5d20",
  user_id: "carol",
  status: "queued",
  lines: 3,
  first_day: "2026-03-05",
  last_day: "2026-03-05",
  results: null,
  columns: ["order_id", "transaction_id", "amount", "fee", "net", "time"],
  days: null,
  open_differences: null,
  queued_checks: 0,
  created_at: "2026-03-06T02:15:00.000Z",
  finished_at: null,
};

const SUCCEEDED: ReconciliationView = {
  ...QUEUED,
  status: "succeeded",
  results: {
    matched: 2,
    amount_differs: 1,
    status_differs: 0,
    listed_twice: 0,
    missing_here: 0,
    missing_there: 0,
  },
  days: [{
    date: "2026-03-05",
    lines: 3,
    gross_amount: "194000.00",
    fee: "1760.00",
    net_amount: "192240.00",
  }],
  open_differences: 1,
  queued_checks: 1,
  finished_at: "2026-03-06T02:15:01.000Z",
};

export const RECONCILIATIONS = {
  compared: { summary: "Compared, with one difference", value: SUCCEEDED },
  queued: { summary: "Stored, and not compared yet", value: QUEUED },
} satisfies Examples<ReconciliationView>;

const { columns: _, days: __, ...SUMMARY } = SUCCEEDED;

export const RECONCILIATION_PAGE = {
  page: { summary: "One reconciliation", value: [SUMMARY] },
} satisfies Examples<ReconciliationSummaryView[]>;

/** A schema with a name, because orval's name for a parameter `result` is already in use. */
export const DifferenceResultSchema = oneOf(DIFFERENCES).openapi("DifferenceResult", {
  description: "What differs, as in `results` of the reconciliation.",
  example: "amount_differs",
});

export const DifferenceSchema = z.object({
  id: z.int().openapi({
    format: "int32",
    description: "Identifies the difference in its reconciliation: the line of the file, or a " +
      "negative number for `missing_there`.",
    example: 3,
  }),
  line: z.int().nullable().openapi({
    description: "The line of the file; the header is line 1. Null for `missing_there`.",
    example: 3,
  }),
  result: DifferenceResultSchema,
  kind: z.enum(LINE_KINDS).openapi({
    description: "What the line reports. `status`: the status of an unpaid transaction, such as " +
      "`expire`.",
    example: "settlement",
  }),
  order_id: nullableText.openapi({
    description: "The order id in the file; for `missing_there`, that of the payment.",
    example: "order-1017",
  }),
  transaction_id: nullableText.openapi({
    description: "The transaction id in the file; for `missing_there`, that of the payment.",
    example: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
  }),
  amount: money("The amount in the file; null for `missing_there`.", "149000.00").nullable(),
  status: nullableText.openapi({ description: "The status in the file.", example: null }),
  date: z.iso.date().nullable().openapi({
    description: "The day of the line, or of the settlement for `missing_there` (Jakarta).",
    example: "2026-03-05",
  }),
  payment_id: z.uuid().nullable().openapi({
    description:
      "The payment here. For `missing_here`: the one that was taken over, or the one whose " +
      "refund is missing.",
    example: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  }),
  refund_id: z.uuid().nullable().openapi({ description: "The refund here.", example: null }),
  known_amount: money("The amount here.", "150000.00").nullable(),
  known_status: nullableText.openapi({ description: "The status here.", example: "settlement" }),
  resolved_at: timestamp("When it was marked as resolved; null if it is open.").nullable(),
  resolved_by: nullableText.openapi({
    description: "The user who marked it as resolved; null if it is open.",
    example: "carol",
  }),
}).openapi("ReconciliationDifference", {
  description: "A line that differs from the payments here, or a payment that is not in the file.",
});

const DIFFERENCE: DifferenceView = {
  id: 3,
  line: 3,
  result: "amount_differs",
  kind: "settlement",
  order_id: "order-1017",
  transaction_id: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
  amount: "149000.00",
  status: null,
  date: "2026-03-05",
  payment_id: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  refund_id: null,
  known_amount: "150000.00",
  known_status: "settlement",
  resolved_at: null,
  resolved_by: null,
};

export const DIFFERENCE_PAGE = {
  page: { summary: "One difference", value: [DIFFERENCE] },
} satisfies Examples<DifferenceView[]>;

export const OPEN_DIFFERENCE = {
  open: { summary: "Open", value: DIFFERENCE },
} satisfies Examples<DifferenceView>;

export const RESOLVED_DIFFERENCE = {
  resolved: {
    summary: "Resolved",
    value: { ...DIFFERENCE, resolved_at: "2026-03-06T03:40:12.000Z", resolved_by: "carol" },
  },
} satisfies Examples<DifferenceView>;

export const TAKEN_OVER_DIFFERENCE = {
  taken_over: {
    summary: "Taken over",
    value: {
      ...RESOLVED_DIFFERENCE.resolved.value,
      result: "missing_here",
      known_amount: null,
      known_status: null,
    },
  },
} satisfies Examples<DifferenceView>;

export const QUEUED_TAKE_OVER = {
  queued_take_over: {
    summary: "Queued",
    value: { ...QUEUED_JOBS.queued_charge.value, task: TAKE_OVER_MISSING },
  },
};
