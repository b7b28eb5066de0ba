/** `refundPayment`: reserves the amount, then asks the gateway for the refund. */

import type { GatewayPayment, GatewayRefund } from "../../db/payments/payments.ts";
import { PENDING_AT_BANK } from "../../db/payments/refunds.ts";
import type { ServiceError } from "../errors.ts";
import {
  CALL_REJECTIONS,
  GatewayDuplicateOrderError,
  GatewayError,
  isUnansweredOrRateLimited,
} from "../gateway/errors.ts";
import {
  type GatewayResponse,
  isDenied,
  isEarlierCallInProgress,
  type Transaction,
} from "../gateway/responses.ts";
import {
  finishKey,
  keyLifetimeMs,
  keyReused,
  requestInProgress,
  type RequestResult,
} from "../idempotency/keys.ts";
import { newId } from "../ids.ts";
import { type ActionRequest, beginAction, endWithError, requireAsShown } from "../records/act.ts";
import { nextCheck, UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import {
  endWithUnknownOutcome,
  type KeyedRequest,
  keyStillClaimed,
  keyWithError,
  keyWithReply,
} from "../records/keyed_request.ts";
import { gatewayDownProblem } from "../records/problems.ts";
import { findOwn } from "../records/read.ts";
import { actAs } from "../records/record.ts";
import type { Service } from "../service.ts";
import { applyReport, type Source } from "./apply_report.ts";
import { checkForAction, requireTransaction, tryRequestStatus } from "./check_at_gateway.ts";
import { isUnansweredRefund, requestEnd, withoutReservation } from "./merge_refunds.ts";
import {
  amountTooHigh,
  changePayment,
  checkPaymentJob,
  gatewayProblem,
  invalidState,
  paymentKind,
  problemAbout,
  problems,
  unclearAnswer,
} from "./payment_record.ts";
import { noRefundReason } from "./paid_cohorts.ts";
import { canBecomeSettled, REFUNDABLE } from "./states.ts";
import { callOptions, matchesPayment, refundsOf } from "./transaction.ts";
import { type PaymentView, type RefundView, viewPayment, viewRefund } from "./views.ts";

export interface RefundInput {
  /** Defaults to the full remaining amount. */
  amount?: number;
  reason?: string;
  /** Refund synchronously through the bank, which not every bank supports. */
  direct: boolean;
}

export interface RefundedPayment {
  payment: PaymentView;
  refund: RefundView;
}

export async function refundPayment(
  service: Service,
  actionRequest: ActionRequest,
  input: RefundInput,
): Promise<RequestResult<RefundedPayment>> {
  const { caller, id, shown } = actionRequest;
  const asCaller = actAs(service, caller);
  const begun = await beginAction(asCaller, paymentKind, actionRequest);
  if (begun.type === "replay") return { body: begun.body as RefundedPayment, isReplayed: true };
  const { request } = begun;
  try {
    // The payment was read before the key was claimed. The earlier request with the key may have
    // changed the payment in between.
    const known = begun.type === "resume"
      ? await findOwn(asCaller, paymentKind, caller, id)
      : begun.record;
    const earlier = known.refunds.find((refund) => refund.id === request.refundId);
    const options = { ...input, shown, mayBeMade: begun.type === "resume" };
    const body = earlier && earlier.status !== "failed"
      ? await resumeRefund(asCaller, request, known, earlier)
      : await startRefund(asCaller, request, known, options);
    return { body, isReplayed: false };
  } catch (error) {
    throw await endWithError(asCaller, paymentKind, request, begun.record, error);
  }
}

/** `mayBeMade`: an earlier request with the key may have made the refund. */
async function startRefund(
  service: Service,
  request: KeyedRequest,
  known: GatewayPayment,
  input: RefundInput & Pick<ActionRequest, "shown"> & { mayBeMade: boolean },
): Promise<RefundedPayment> {
  requireRefundableMethod(known);
  // The notification about the payment may be late or lost.
  const current = canBecomeSettled(known.transaction_status) || input.mayBeMade
    ? await checkForAction(service, known, "refund", input.mayBeMade ? "unknown" : "refused")
    : known;
  const { refund_key, lost } = chooseRefundKey(service, request, current);
  if (lost) {
    if (lost.amount !== (input.amount ?? lost.amount)) throw keyReused();
    return await resumeRefund(service, request, current, lost);
  }
  requireRefundable(current);
  if (service.gateway.breakerState("write") === "open") throw gatewayDownProblem();
  const payment = await requireTransaction(service, current, "refund");
  const refundRequest = {
    ...request,
    refundId: newId(new Date(service.clock())),
    source: "refund",
    wasSentBefore: false,
  } as const;
  const reserved = await reserveAmount(service, refundRequest, payment, { ...input, refund_key });
  // If this process was paused, the task may have ended the refund, and another one may be made.
  if (service.clock() >= requestEnd(refundIn(reserved, refundRequest)).getTime()) {
    throw await endAsUnknown(service, refundRequest, reserved, problems.sentTooLate(reserved));
  }
  return await sendRefund(service, refundRequest, reserved);
}

interface ChosenRefundKey {
  /** Null: the refund's id is the key, because the request has no idempotency key. */
  refund_key: string | null;
  /** The refund that an earlier request with the key made, which the database has lost. */
  lost: GatewayRefund | null;
}

/**
 * The refund key follows from the idempotency key, so the gateway makes the refund once, even if
 * the database has lost the first request. A number makes it differ if the idempotency key was used
 * for this payment before: the earlier refund failed, or the idempotency key has expired since.
 */
function chooseRefundKey(
  service: Service,
  { key }: KeyedRequest,
  { refunds, transaction_id }: GatewayPayment,
): ChosenRefundKey {
  if (!key || transaction_id === null) return { refund_key: null, lost: null };
  const since = service.clock() - keyLifetimeMs(service);
  const byKey = new Map(refunds.map((refund) => [refund.refund_key, refund]));
  const candidates = Array.from(
    { length: MAX_KEY_USES + refunds.length },
    // Not the payment's id: after a restore, the payment may have another one.
    (_, use) => service.deriveId("refund", key.user_id, key.key, transaction_id, use),
  );
  const known = candidates.map((each) => byKey.get(each));
  const lost = known.find((refund) =>
    refund && refund.status !== "failed" && refund.created_at.getTime() >= since
  );
  const lastUse = known.findLastIndex((refund) => refund !== undefined);
  return { refund_key: candidates[lastUse + 1]!, lost: lost ?? null };
}

/**
 * The gateway does not list refunds that failed, so that a restored database knows none of the
 * earlier uses: a caller whose refund fails may repeat it this often with one key.
 */
const MAX_KEY_USES = 100;

type ReservedRefund =
  & RefundInput
  & Pick<ActionRequest, "shown">
  & Pick<ChosenRefundKey, "refund_key">;

/**
 * Inserts the refund and reserves its amount before the call. Each reservation is valid only for
 * the version of the payment it was decided on, so reserved and refunded amounts never exceed the
 * amount paid.
 */
async function reserveAmount(
  service: Service,
  request: KeyedRequest & { refundId: string },
  known: GatewayPayment,
  { amount, reason, direct, shown, refund_key }: ReservedRefund,
): Promise<GatewayPayment> {
  return await changePayment(service, known, (payment) => {
    requireAsShown(paymentKind, { shown }, payment);
    requireRefundable(payment);
    const now = new Date(service.clock());
    const { captured_amount, refunded_amount, reserved_amount } = payment;
    const remaining = (captured_amount ?? 0) - refunded_amount - reserved_amount;
    if (remaining <= 0) {
      throw invalidState(payment, "The full amount is already refunded or being refunded.");
    }
    const wanted = amount ?? remaining;
    if (wanted > remaining) throw amountTooHigh(payment, remaining, "the amount left to refund");
    const refund: GatewayRefund = {
      id: request.refundId,
      payment_id: payment.id,
      user_id: payment.user_id,
      refund_key: refund_key ?? request.refundId,
      amount: wanted,
      reason: reason ?? null,
      is_direct: direct,
      status: "pending",
      status_code: null,
      status_message: null,
      created_by: service.actor ?? null,
      created_at: now,
      updated_at: now,
    };
    return {
      set: {
        reserved_amount: reserved_amount + wanted,
        check_at: new Date(now.getTime() + UNANSWERED_CHECK_MS),
      },
      refunds: [refund],
      // Fails if another request has taken over the key: that request makes the refund.
      key: keyStillClaimed(request),
    };
  });
}

/** The gateway would reject the refund, with a text that does not say what to do instead. */
function requireRefundableMethod(payment: GatewayPayment): void {
  const reason = noRefundReason(payment);
  if (reason !== null) throw invalidState(payment, reason);
}

function requireRefundable(payment: GatewayPayment): void {
  const status = payment.transaction_status;
  if (REFUNDABLE.includes(status)) return;
  throw invalidState(
    payment,
    status === "capture"
      ? "A captured payment cannot be refunded before it is settled. Cancel it instead."
      : `A payment with status ${status} cannot be refunded.`,
  );
}

/**
 * The earlier request may have made the refund, so the payment is checked at the gateway first. A
 * refund that was answered is not sent again.
 */
async function resumeRefund(
  service: Service,
  request: KeyedRequest,
  known: GatewayPayment,
  earlier: GatewayRefund,
): Promise<RefundedPayment> {
  const refundRequest = {
    ...request,
    refundId: earlier.id,
    source: "refund",
    wasSentBefore: true,
  } as const;
  let payment = await checkForAction(service, known, "refund", "unknown");
  if (isUnansweredRefund(refundIn(payment, refundRequest))) {
    const claimedAt = service.clock();
    // Fails if another request has taken over the key: that request sends the refund.
    payment = await changePayment(service, payment, () => ({ key: keyStillClaimed(request) }));
    if (isUnansweredRefund(refundIn(payment, refundRequest))) {
      if (service.clock() >= claimedAt + UNANSWERED_CHECK_MS) {
        throw await endAsUnknown(service, refundRequest, payment, problems.sentTooLate(payment));
      }
      return await sendRefund(service, refundRequest, payment);
    }
  }
  const refund = refundIn(payment, refundRequest);
  // The task has ended it meanwhile. The next retry makes another refund.
  if (refund.status === "failed") throw requestInProgress(1);
  if (refund.status === "denied") throw refundDenied(payment, refund);
  const body = viewRefunded(payment, refundRequest);
  if (request.key) await finishKey(service, request.key, { body });
  return body;
}

export interface RefundRequest extends KeyedRequest {
  refundId: string;
  source: Source;
  /** An earlier attempt may have made the refund. */
  wasSentBefore: boolean;
}

/** Sends a reserved refund. Its refund key makes sure that the gateway makes it only once. */
export async function sendRefund(
  service: Service,
  request: RefundRequest,
  payment: GatewayPayment,
): Promise<RefundedPayment> {
  const refund = refundIn(payment, request);
  let answer: GatewayResponse<Transaction>;
  try {
    answer = await callGateway(service, payment, refund);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return await resolveFailure(service, request, payment, error);
  }
  if (isDenied(answer)) {
    const { status_code, status_message } = answer.body;
    throw await endRefund(service, request, payment, {
      status: "denied",
      status_code,
      status_message,
    });
  }
  if (isEarlierCallInProgress(answer) || !isAnswerTo(payment, refund, answer.body)) {
    throw await endAsUnknown(service, request, payment, unclearAnswer(payment, answer.statusCode));
  }
  if (answer.statusCode === PENDING_AT_BANK) {
    return await storePendingRefund(service, request, payment, answer.body);
  }
  return await applyRefund(service, request, payment, answer.body);
}

/** The amount stays reserved until a status response or a notification lists the refund. */
async function storePendingRefund(
  service: Service,
  request: RefundRequest,
  known: GatewayPayment,
  { status_code, status_message }: Pick<Transaction, "status_code" | "status_message">,
): Promise<RefundedPayment> {
  const now = new Date(service.clock());
  const key = keyWithReply(request, (after: GatewayPayment) => viewRefunded(after, request));
  const payment = await changePayment(service, known, (current) => {
    const refund = refundIn(current, request);
    if (refund.status !== "pending") return { key };
    const accepted = { ...refund, status_code, status_message, updated_at: now };
    return { set: { check_at: nextCheck(refund.created_at, now) }, refunds: [accepted], key };
  });
  return viewRefunded(payment, request);
}

function callGateway(
  { gateway }: Service,
  payment: GatewayPayment,
  { id, refund_key, amount, reason, is_direct }: GatewayRefund,
): Promise<GatewayResponse<Transaction>> {
  const operation = is_direct ? gateway.directRefund : gateway.refund;
  const options = { ...callOptions(payment), idempotencyKey: id };
  return operation(payment.transaction_id!, refund_key, amount, reason ?? "", options);
}

/** The gateway repeats the stored response of an idempotency key, even for a different request. */
function isAnswerTo(payment: GatewayPayment, refund: GatewayRefund, answer: Transaction): boolean {
  return matchesPayment(payment, answer) &&
    (answer.refund_key ?? refund.refund_key) === refund.refund_key;
}

/** The gateway made the refund. Requests and applies the payment's state after the refund. */
async function applyRefund(
  service: Service,
  request: RefundRequest,
  payment: GatewayPayment,
  accepted: Transaction,
): Promise<RefundedPayment> {
  const status = await tryRequestStatus(service, payment);
  const listing = status && isListed(status, refundIn(payment, request)) ? status : null;
  const now = new Date(service.clock());
  const { payment: refunded } = await applyReport(service, payment, {
    answer: listing ?? accepted,
    source: request.source,
    askedAtVersion: listing ? payment.version : null,
    acceptedRefund: {
      id: request.refundId,
      status_code: accepted.status_code,
      status_message: accepted.status_message,
    },
    key: keyWithReply(request, (after) => viewRefunded(after, request)),
    followUp: listing ? undefined : checkPaymentJob(payment, now),
  });
  return viewRefunded(refunded, request);
}

function isListed(status: Transaction, { refund_key }: GatewayRefund): boolean {
  return refundsOf(status).some((made) => made.refund_key === refund_key);
}

/** Returns the refund if an attempt made it after all; otherwise throws. */
async function resolveFailure(
  service: Service,
  request: RefundRequest,
  payment: GatewayPayment,
  error: GatewayError,
): Promise<RefundedPayment> {
  const unknownProblem = gatewayProblem(error, payment, "unknown");
  // The job sends the refund again, so an unanswered or rate-limited call is not a final failure.
  const isPostponed = request.isRetriedByJob && isUnansweredOrRateLimited(error);
  if (error.outcome === "unknown" || isPostponed) {
    throw await endAsUnknown(service, request, payment, unknownProblem);
  }
  // An earlier attempt of this refund has used the refund key, or the same refund did before the
  // database was restored.
  const isMade = error instanceof GatewayDuplicateOrderError;
  const isWrongState = error.statusCode === "412";
  const needsStatus = isMade || request.wasSentBefore || isWrongState;
  const status = needsStatus ? await tryRequestStatus(service, payment) : null;
  if (isMade && status) {
    // A refund that waits at the bank has used its key, too, and the bank can still decline it.
    return isListed(status, refundIn(payment, request))
      ? await applyRefund(service, request, payment, status)
      : await storePendingRefund(service, request, payment, {
        status_code: PENDING_AT_BANK,
        status_message: error.message,
      });
  }
  const isInconclusive = request.wasSentBefore && (!status || !isRefundRejection(error));
  if (isMade || isInconclusive) throw await endAsUnknown(service, request, payment, unknownProblem);
  const report = status &&
    { answer: status, source: request.source, askedAtVersion: payment.version };
  const current = report ? (await applyReport(service, payment, report)).payment : payment;
  if (refundIn(current, request).status === "succeeded") {
    return await applyRefund(service, request, current, status!);
  }
  const problem = isWrongState
    ? invalidState(current, `The gateway rejected the request: ${error.message}`)
    : gatewayProblem(error, current);
  const { statusCode: status_code, message: status_message } = error;
  const to = { status: "failed", status_code, status_message } as const;
  throw await endRefund(service, request, current, to, problem);
}

function isRefundRejection({ statusCode }: GatewayError): boolean {
  return statusCode !== null && !CALL_REJECTIONS.includes(statusCode);
}

function refundDenied(payment: GatewayPayment, refund: GatewayRefund): ServiceError {
  return problemAbout("refund_denied", payment, "refused", {
    detail: refund.status_message ?? undefined,
    members: { refund: viewRefund(refund) },
  });
}

/**
 * Returns the problem to throw. If a caller requested the refund, also schedules a check. The task
 * `check_payment_status` needs none, because it runs again by itself.
 */
async function endAsUnknown(
  service: Service,
  request: RefundRequest,
  payment: GatewayPayment,
  problem: ServiceError,
): Promise<ServiceError> {
  if (request.source !== "refund") return problem;
  return await endWithUnknownOutcome(service, paymentKind, request, payment, problem);
}

/**
 * Ends a refund that was not made and releases its reserved amount, unless another report ended it
 * meanwhile. Returns the problem to throw.
 */
async function endRefund(
  service: Service,
  request: RefundRequest,
  known: GatewayPayment,
  to: Pick<GatewayRefund, "status" | "status_code" | "status_message">,
  failure?: ServiceError,
): Promise<ServiceError> {
  const now = new Date(service.clock());
  const payment = await changePayment(service, known, (current) => {
    const refund = refundIn(current, request);
    if (refund.status !== "pending") return null;
    const ended = { ...refund, ...to, updated_at: now };
    return {
      set: withoutReservation(current, ended),
      refunds: [ended],
      key: keyWithError(request, failure ?? refundDenied(known, ended)),
    };
  });
  return failure ?? refundDenied(known, refundIn(payment, request));
}

function refundIn({ refunds }: GatewayPayment, { refundId }: RefundRequest): GatewayRefund {
  const refund = refunds.find(({ id }) => id === refundId);
  if (!refund) throw new Error(`The payment has no refund ${refundId}`);
  return refund;
}

function viewRefunded(payment: GatewayPayment, request: RefundRequest): RefundedPayment {
  return { payment: viewPayment(payment), refund: viewRefund(refundIn(payment, request)) };
}
