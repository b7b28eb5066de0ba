/**
 * Takes over transactions that a report of the gateway has and the service does not know, for
 * example because the database was restored from a backup. The file only says which transactions to
 * ask for: what is stored comes from the gateway's response.
 */

import { type GatewayJob, insertJobs, LANES, storeJobProgress } from "../../db/jobs/jobs.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import * as lines from "../../db/reports/reconciliation_lines.ts";
import { type Caller, requireStaff } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import { GatewayError } from "../gateway/errors.ts";
import type { Transaction } from "../gateway/responses.ts";
import { type JobView, readJob } from "../jobs/read.ts";
import { errorText, PostponeJob, type Task } from "../jobs/task.ts";
import { formatMoney } from "../money.ts";
import {
  applyFound,
  findNotifiedPayment,
  hasSameIds,
  requestTransaction,
} from "../notifications/receive.ts";
import { newJob } from "../records/new_job.ts";
import { canAdopt, previewAdopted } from "../payments/adopt.ts";
import { checkAtGateway } from "../payments/check_at_gateway.ts";
import { checkProblem } from "../records/problems.ts";
import { actAs } from "../records/record.ts";
import type { Service } from "../service.ts";
import { compareLine, MAX_LINES_OF_PAYMENT } from "./compare_line.ts";
import { storeFees } from "./fees.ts";
import {
  findDifference,
  type MarkedDifference,
  readDifference,
  readReconciliation,
} from "./reconciliations.ts";

export const TAKE_OVER_MISSING = "take_over_missing";

const SOURCE = "take_over";

/** `isChanged` is false if it was taken over before. */
export async function takeOverDifference(
  service: Service,
  caller: Caller,
  id: string,
  number: number,
): Promise<MarkedDifference> {
  requireStaff(caller);
  const line = await findDifference(service, id, number);
  const isChanged = await takeOver(service, caller, id, line);
  return { difference: await readDifference(service, caller, id, number), isChanged };
}

/** Takes over the transaction of a line, and marks the line as resolved. */
async function takeOver(
  service: Service,
  caller: Caller,
  id: string,
  line: lines.Difference,
): Promise<boolean> {
  const asCaller = actAs(service, caller);
  const { database, clock } = asCaller;
  if (line.result !== "missing_here") {
    throw refusal(
      `Only a difference with the result missing_here can be taken over; this one is ${line.result}. ` +
        "Check its payment at the gateway instead.",
    );
  }
  if (line.resolved_at !== null) {
    if (line.payment_id !== null) return false;
    throw refusal("The difference is marked as resolved. Open it again before you take it over.");
  }
  const { found, order_id } = await askGateway(asCaller, line);
  const { transaction_id, metadata } = found;
  const reference = { order_id, transaction_id, raw_payload: { metadata } };
  const known = await findNotifiedPayment(asCaller, reference);
  const own = { reconciliation_id: id, line: line.line };
  const earlier = known === null ? [] : await database.query(
    (sql) => lines.listReported(sql, known.id, own, MAX_LINES_OF_PAYMENT),
    "list reported lines",
  );
  requireMatch(line, previewAdopted(asCaller, { ...found, order_id }), earlier);
  const payment = await applyOrAdopt(asCaller, known, found, order_id);
  const { refund_id, ...outcome } = requireMatch(line, payment, earlier);
  const resolution = {
    at: new Date(clock()),
    by: caller.userId,
    payment_id: payment.id,
    refund_id,
  };
  return await database.transaction(async (sql) => {
    const isChanged = await lines.markDifference(sql, id, line.line, resolution);
    if (!isChanged) return false;
    const taken = [{ ...line, ...outcome, refund_id }];
    await lines.insertReported(sql, id, taken);
    await storeFees(sql, id, taken);
    return true;
  }, "mark difference");
}

interface FoundTransaction {
  found: Transaction;
  /** The response names no order if the transaction is one of the BI-SNAP API. */
  order_id: string;
}

/** Throws a problem if the gateway does not have the transaction of the line. */
async function askGateway(service: Service, line: lines.FileLine): Promise<FoundTransaction> {
  const { transaction_id } = line;
  const asked = (transaction_id ?? line.order_id)!;
  const channel = { payment_type: null, bank: null, transaction_id };
  // Such an id would change the path of the request.
  const isPath = asked === "." || asked === "..";
  const found = isPath ? null : await atGateway(() => requestTransaction(service, asked, channel));
  if (!found) {
    throw refusal(
      `The gateway has no transaction ${asked}, which line ${line.line} of the file names. Check ` +
        "that the file is a report of this gateway account.",
    );
  }
  const order_id = line.order_id ?? found.order_id;
  if (order_id === null || !await hasSameIds(service, { order_id, transaction_id }, found)) {
    throw refusal(
      `The gateway's transaction ${asked} has other ids than line ${line.line} of the file: order ` +
        `${found.order_id}, transaction ${found.transaction_id}. Look it up at the gateway.`,
    );
  }
  if (!canAdopt({ ...found, order_id })) {
    throw refusal(
      `The gateway's record of transaction ${asked} is incomplete, or has a status that the ` +
        `service does not know (${found.transaction_status}). Look it up at the gateway.`,
    );
  }
  return { found, order_id };
}

/** Throws a problem instead of a `GatewayError`. */
async function atGateway<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof GatewayError ? checkProblem(error) : error;
  }
}

/** Compares the line with what the gateway reports, as if the payment had been known before. */
function requireMatch(
  line: lines.FileLine,
  payment: GatewayPayment,
  earlier: lines.EarlierLine[],
) {
  const candidate = { ...payment, line: line.line };
  // The status of an unpaid transaction may have changed since the gateway wrote the file.
  const status = line.kind === "status" ? payment.transaction_status : line.status;
  const outcome = compareLine({ ...line, status }, candidate, earlier);
  if (outcome.result === "matched") return outcome;
  if (outcome.result === "listed_twice") {
    throw refusal(
      `Another line has the same ${line.kind} of payment ${outcome.payment_id}. Ask the gateway ` +
        "whether it is paid out twice.",
    );
  }
  const { captured_amount, gross_amount, transaction_status } = payment;
  const amount = outcome.known_amount ?? captured_amount ?? gross_amount;
  throw refusal(
    `The gateway's record differs from line ${line.line} of the file: the line is a ${line.kind} of ` +
      `${formatMoney(line.amount)}, and the gateway reports ${
        formatMoney(amount)
      } with the status ` +
      `${transaction_status}. Look it up at the gateway, and mark the difference as resolved when ` +
      "it is explained.",
  );
}

/** How long a charge usually stays without an answer. */
const RETRY_SECONDS = 60;

/** `known`: the payment with the transaction, or the one of the order that has none yet. */
async function applyOrAdopt(
  service: Service,
  known: GatewayPayment | null,
  found: Transaction,
  order_id: string,
): Promise<GatewayPayment> {
  if (known && known.transaction_id !== null) {
    return (await atGateway(() => checkAtGateway(service, known, SOURCE))).payment;
  }
  try {
    // Not null: the response is complete.
    return (await applyFound(service, known, found, { order_id, source: SOURCE }))!.payment;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const isUnclear = error.failure === "answered" && error.statusCode === null;
    if (!known || !isUnclear) throw checkProblem(error);
    const detail =
      `It is not clear whether the transaction of order ${order_id} belongs to payment ${known.id}, ` +
      "whose charge the gateway has not answered. Retry when that charge has a result.";
    throw refusal(detail, {
      headers: { "Retry-After": String(RETRY_SECONDS) },
      cause: error,
    });
  }
}

function refusal(
  detail: string,
  options: { headers?: Record<string, string>; cause?: unknown } = {},
): ServiceError {
  return new ServiceError("invalid_state", { ...options, detail });
}

/** The payload of the job, which its runs update. */
interface Progress {
  reconciliation_id: string;
  caller: Caller;
  /** The last line that a run has asked the gateway for. */
  after: number;
  taken_over: number;
  failed: number;
  /** Why lines were not taken over: the first of them. */
  problems: { difference: number; error: string }[];
}

const MAX_PROBLEMS = 20;

/** A file with more of them is probably one of another account. */
const MAX_FAILED = 1_000;

/** The time of one run. Then the job is postponed, before it reaches its own time limit. */
const MAX_RUN_MS = 45_000;

/** Queues the job that takes over all open differences that are `missing_here`. */
export async function takeOverMissing(
  service: Service,
  caller: Caller,
  id: string,
): Promise<JobView> {
  requireStaff(caller);
  const { status } = await readReconciliation(service, caller, id);
  if (status !== "succeeded") {
    throw refusal("The file is not compared yet. Retry when its status is succeeded.", {
      headers: { "Retry-After": "5" },
    });
  }
  const { database, clock, jobQueue } = service;
  const now = new Date(clock());
  // All members, so that a job that is still queued starts again at the first line.
  const progress: Progress = {
    reconciliation_id: id,
    caller,
    after: 0,
    taken_over: 0,
    failed: 0,
    problems: [],
  };
  const subject = { id, user_id: caller.userId };
  const job = newJob(TAKE_OVER_MISSING, subject, progress, { runAt: now, now });
  const [queued] = await database.query(
    (sql) => insertJobs(sql, [{ ...job, lane: LANES.checks }]),
    "queue take-over",
  );
  jobQueue.enqueue(queued!);
  return await readJob(service, caller, queued!.id);
}

/** Asks the gateway for one transaction at a time, and continues after the last one. */
export function createTakeOverMissing(service: Service): Task {
  const { database, clock } = service;
  return {
    retries: 5,
    firstDelayMs: 10_000,
    async run({ id: jobId, payload }: GatewayJob, { stopping }) {
      const deadline = performance.now() + MAX_RUN_MS;
      let progress = payload as unknown as Progress;
      while (progress.failed < MAX_FAILED) {
        const line = await findNext(service, progress);
        if (!line) break;
        if (stopping.aborted || performance.now() > deadline) {
          throw new PostponeJob(new Date(clock()));
        }
        const next = await takeOverNext(service, progress, line);
        await database.query((sql) => storeJobProgress(sql, jobId, next), "store progress");
        progress = next;
      }
      const { reconciliation_id, taken_over, failed, problems } = progress;
      return { reconciliation_id, taken_over, failed, problems };
    },
  };
}

async function findNext(
  { database }: Service,
  { reconciliation_id, after }: Progress,
): Promise<lines.Difference | undefined> {
  const filter = { result: "missing_here", isResolved: false, after, limit: 1 } as const;
  const [line] = await database.query(
    (sql) => lines.listDifferences(sql, reconciliation_id, filter),
    "list differences",
  );
  return line;
}

async function takeOverNext(
  service: Service,
  progress: Progress,
  line: lines.Difference,
): Promise<Progress> {
  const { caller, reconciliation_id, taken_over, failed, problems } = progress;
  const after = line.line;
  try {
    await takeOver(service, caller, reconciliation_id, line);
    return { ...progress, after, taken_over: taken_over + 1 };
  } catch (error) {
    if (!isAboutLine(error)) throw error;
    const listed = [...problems, { difference: after, error: errorText(error) }];
    return { ...progress, after, failed: failed + 1, problems: listed.slice(0, MAX_PROBLEMS) };
  }
}

/** Any other error would also occur with the next lines, so the job is tried again later. */
function isAboutLine(error: unknown): boolean {
  if (!(error instanceof ServiceError) || error.status >= 500) return false;
  const { code, cause } = error;
  const isBroken = cause instanceof GatewayError && cause.statusCode?.startsWith("5") === true;
  return !isBroken && code !== "gateway_rate_limited" && code !== "gateway_authentication";
}
