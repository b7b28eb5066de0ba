/** `/reconciliations/…`: compares reports of the gateway with the payments here. */

import { createRoute, z } from "@hono/zod-openapi";
import { requireStaff } from "../../core/auth/caller.ts";
import { invalidField, ServiceError } from "../../core/errors.ts";
import { oneOf } from "../../core/input_fields.ts";
import type { PaymentDeps } from "../../core/payments/payment_record.ts";
import {
  DIFFERENCES,
  listDifferences,
  MAX_FILE_BYTES,
  readReconciliation,
  RECONCILIATION_STATUSES,
  type ReconciliationView,
  tooLarge,
  uploadReport,
} from "../../core/reports/reconcile.ts";
import { type ColumnNames, LINE_KINDS, REPORT_COLUMNS } from "../../core/reports/report_file.ts";
import { type Examples, id, money, nullableText, timestamp } from "../../core/response_fields.ts";
import { unsentExample } from "../../openapi/components.ts";
import { linkHeader, NEXT_PAGE, paging } from "../shared/page.ts";
import { basePathOf, locationHeader, parsePathId, pathId } from "../shared/paths.ts";
import { CHANGE_ERRORS, COMMON_ERRORS, problems } from "../shared/problem_responses.ts";
import { callerOf, createRouter, type Router } from "../shared/router.ts";

const path = "/reconciliations/";

const count = (description: string) =>
  z.int().openapi({ format: "int64", description, example: 3 });

const ReconciliationSchema = z.object({
  id,
  job_id: z.uuid().openapi({
    description: "The job that compares the file; `GET /jobs/{pk}/` shows its progress.",
    example: "0197a3c4-7b1e-7c55-8a3d-3c1f0e9b5d20",
  }),
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
    missing_here: count("Lines without a payment or refund here."),
    missing_there: count(
      "Payments that were settled on the days of the file, but are not in it; null if the file " +
        "has no times.",
    ).nullable(),
  }).nullable().openapi({ description: "Null until `status` is `succeeded`." }),
  days: z.array(z.object({
    date: z.iso.date().nullable().openapi({
      description: "A day in Jakarta; null: lines without a time.",
      example: "2026-03-05",
    }),
    lines: count("Lines of the day."),
    gross_amount: money("Settlements minus refunds and chargebacks.", "194000.00"),
    fee: money("Sum of the fees in the file.", "1760.00"),
    net_amount: money("Sum of the net amounts in the file.", "192240.00"),
  })).nullable().openapi({ description: "Sums of the file; null until it is compared." }),
  queued_checks: count("Payments with a difference that are checked at the gateway."),
  created_at: timestamp("When the file was uploaded."),
  finished_at: timestamp("When it was compared; null until then.").nullable(),
}).openapi("Reconciliation", {
  description: "A report of the gateway, compared with the payments here.",
});

const QUEUED: ReconciliationView = {
  id: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  job_id: "0197a3c4-7b1e-7c55-8a3d-3c1f0e9b5d20",
  status: "queued",
  lines: 3,
  first_day: "2026-03-05",
  last_day: "2026-03-05",
  results: null,
  days: null,
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
  queued_checks: 1,
  finished_at: "2026-03-06T02:15:01.000Z",
};

const EXAMPLES = {
  compared: { summary: "Compared, with one difference", value: SUCCEEDED },
  queued: { summary: "Stored, and not compared yet", value: QUEUED },
} satisfies Examples<ReconciliationView>;

const FILE_EXAMPLE = "order_id,transaction_id,gross_amount,fee,net_amount,settlement_time\r\n" +
  "order-1017,be03df7d-2f97-4c8c-a53c-8959f1b67295,150000.00,880.00,149120.00,2026-03-05 10:12:09\r\n";

const uploadRoute = createRoute({
  method: "post",
  path,
  operationId: "createReconciliation",
  summary: "Reconcile a report of the gateway",
  description:
    "Stores a settlement or transaction report of the gateway and compares it with the payments " +
    "here, in the background. The file changes no payment. Each payment with a difference is " +
    "checked at the gateway: one per second, at most 1,000 for each file, or all with " +
    "`confirm_checks=true`. Staff only.\n\n" +
    "The file is CSV in UTF-8 with a header line, at most 64 MiB; cells are separated by commas, " +
    "semicolons or tabs. Columns are found by their headers, such as `Order ID`, `Transaction ID`, " +
    "`Gross Amount`, `Type`, `Transaction Status`, `Refund Key`, `Fee`, `Net Amount` and " +
    "`Settlement Time`; for other headers, use `columns`. The amount and one of the ids are " +
    "required. Times without a zone are those of Jakarta.\n\n" +
    "A file is used as a whole or not at all: if a line is invalid, the error is " +
    "`validation_error`, and `errors` names up to 20 lines by their numbers. If the same file was " +
    "uploaded before, with the same `columns`, the response is 200 with the existing result.",
  tags: ["Reports"],
  request: {
    query: z.object({
      columns: z.string("must be sent only once").max(2_000, "must be at most 2000 characters")
        .transform(parseColumns).optional().openapi({
          type: "string",
          description: "The headers of columns that are not found by themselves, as JSON: " +
            `\`{"amount": "Nominal"}\`. Names: ${REPORT_COLUMNS.join(", ")}.`,
          param: { examples: unsentExample('{"amount": "Nominal"}') },
        }),
      confirm_checks: oneOf(["true", "false"]).optional().openapi({
        description: "`true`: more than 1,000 checks at the gateway may be queued.",
        param: { examples: unsentExample("true") },
      }),
    }),
    body: {
      required: true,
      content: {
        "text/csv": {
          schema: z.string(),
          examples: { report: { summary: "A report", value: FILE_EXAMPLE } },
        },
      },
    },
  },
  responses: {
    200: {
      description: "The same file was uploaded before",
      headers: locationHeader("reconciliation", path),
      content: { "application/json": { schema: ReconciliationSchema, examples: EXAMPLES } },
    },
    202: {
      description: "The file is stored, and will be compared",
      headers: locationHeader("reconciliation", path),
      content: {
        "application/json": {
          schema: ReconciliationSchema,
          examples: { report: EXAMPLES.queued },
        },
      },
    },
    ...problems("payload_too_large", "unsupported_media_type", ...CHANGE_ERRORS),
  },
});

const params = z.object({ pk: pathId("The reconciliation's `id`.") });

const readRoute = createRoute({
  method: "get",
  path: "/reconciliations/{pk}/",
  operationId: "getReconciliation",
  summary: "Get a reconciliation",
  description: "Returns how far the file is compared, and the results. Staff and viewers only; " +
    "for other callers, the error is `forbidden`.",
  tags: ["Reports"],
  request: { params },
  responses: {
    200: {
      description: "The reconciliation",
      content: { "application/json": { schema: ReconciliationSchema, examples: EXAMPLES } },
    },
    ...problems("not_found", "forbidden", ...COMMON_ERRORS),
  },
});

const DifferenceSchema = z.object({
  line: z.int().nullable().openapi({
    description: "The line of the file; the header is line 1. Null for `missing_there`.",
    example: 3,
  }),
  result: z.enum(DIFFERENCES as [DifferenceResult, ...DifferenceResult[]]).openapi({
    description: "What differs, as in `results` of the reconciliation.",
    example: "amount_differs",
  }),
  kind: z.enum(LINE_KINDS).openapi({
    description: "What the line is about; `status`: it only states a status.",
    example: "settlement",
  }),
  order_id: nullableText.openapi({
    description: "The order id in the file.",
    example: "order-1017",
  }),
  transaction_id: nullableText.openapi({
    description: "The transaction id in the file.",
    example: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
  }),
  amount: money("The amount in the file; null for `missing_there`.", "149000.00").nullable(),
  status: nullableText.openapi({ description: "The status in the file.", example: null }),
  date: z.iso.date().nullable().openapi({
    description: "The day in Jakarta.",
    example: "2026-03-05",
  }),
  payment_id: z.uuid().nullable().openapi({
    description: "The payment here.",
    example: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  }),
  refund_id: z.uuid().nullable().openapi({ description: "The refund here.", example: null }),
  known_amount: money("The amount here.", "150000.00").nullable(),
  known_status: nullableText.openapi({ description: "The status here.", example: "settlement" }),
}).openapi("ReconciliationDifference", { description: "A line that does not agree." });

type DifferenceResult = Exclude<(typeof DIFFERENCES)[number], "matched">;

const DIFFERENCE_PAGE = {
  page: {
    summary: "One difference",
    value: [{
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
    }],
  },
} satisfies Examples<z.output<typeof DifferenceSchema>[]>;

const differencesRoute = createRoute({
  method: "get",
  path: "/reconciliations/{pk}/differences/",
  operationId: "listReconciliationDifferences",
  summary: "List the differences of a reconciliation",
  description:
    "Returns the differences in the order of the file; payments that are missing in it come " +
    "first. Empty until the file is compared. Follow `Link` for the next page until it is absent. " +
    "Staff and viewers only; for other callers, the error is `forbidden`.",
  tags: ["Reports"],
  request: {
    params,
    query: z.object({
      result: oneOf(DIFFERENCES as [DifferenceResult, ...DifferenceResult[]]).optional().openapi({
        description: "Only differences with this `result`.",
        param: { examples: unsentExample("missing_here") },
      }),
      limit: paging.limit,
      cursor: z.string("must be sent only once")
        .regex(/^-?[1-9]\d{0,8}$/, "must be a cursor from a Link header").transform(Number)
        .optional().openapi({
          type: "string",
          description: "Position where the page starts. Copy the value from the URL in `Link`.",
          param: { examples: unsentExample("120") },
        }),
    }),
  },
  responses: {
    200: {
      description: "A page of differences",
      headers: NEXT_PAGE,
      content: {
        "application/json": { schema: z.array(DifferenceSchema), examples: DIFFERENCE_PAGE },
      },
    },
    ...problems("not_found", "forbidden", ...COMMON_ERRORS),
  },
});

export function createReconciliationRoutes(deps: PaymentDeps): Router {
  const router = createRouter();
  router.openapi(uploadRoute, async (c) => {
    requireStaff(callerOf(c));
    const { columns = {}, confirm_checks } = c.req.valid("query");
    const { headers, body } = c.req.raw;
    if (!/^text\/csv\s*(;|$)/i.test(headers.get("content-type") ?? "")) {
      throw new ServiceError("unsupported_media_type", {
        detail: "Send the report as text/csv; this operation is the only one that takes no JSON.",
      });
    }
    if (Number(headers.get("content-length") ?? 0) > MAX_FILE_BYTES) throw tooLarge();
    if (body === null) throw invalidField("body", "is empty; send the report as CSV");
    const options = { columns, isConfirmed: confirm_checks === "true" };
    const { reconciliation, isNew } = await uploadReport(deps, callerOf(c), body, options);
    const Location = `${basePathOf(c, path)}${path}${reconciliation.id}/`;
    return isNew
      ? c.json(reconciliation, 202, { Location })
      : c.json(reconciliation, 200, { Location });
  });
  router.openapi(readRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    return c.json(await readReconciliation(deps, callerOf(c), id), 200);
  });
  router.openapi(differencesRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    const { cursor, result, limit } = c.req.valid("query");
    const filter = { result: result ?? null, after: cursor ?? null, limit };
    const { differences, next } = await listDifferences(deps, callerOf(c), id, filter);
    const url = `${basePathOf(c, "/reconciliations/:pk/differences/")}${path}${id}/differences/`;
    return c.json(differences as z.output<typeof DifferenceSchema>[], 200, {
      ...linkHeader(url, { result, limit }, next, (line) => line),
    });
  });
  return router;
}

function parseColumns(text: string, context: z.RefinementCtx): ColumnNames {
  try {
    return z.strictObject(
      Object.fromEntries(REPORT_COLUMNS.map((name) => [name, z.string().min(1).optional()])),
    ).parse(JSON.parse(text)) as ColumnNames;
  } catch {
    context.addIssue({
      code: "custom",
      message: `must be JSON such as {"amount": "Nominal"} with ${REPORT_COLUMNS.join(", ")}`,
    });
    return z.NEVER;
  }
}
