/** `cancelPayment`, `expirePayment`, `capturePayment`, `approvePayment` and `denyPayment`. */

import type { GatewayPayment } from "../../db/payments.ts";
import { type Caller, requireStaff } from "../auth/caller.ts";
import type { ServiceError } from "../errors.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { GatewayError } from "../gateway/errors.ts";
import { type GatewayResponse, isDenied, type Transaction } from "../gateway/responses.ts";
import type { RequestKey, RequestResult } from "../idempotency/keys.ts";
import { parseMoney } from "../money.ts";
import {
  beginAction,
  checkTimeAfterCall,
  classifyActionFailure,
  endWithError,
  requireAsShown,
} from "../records/act.ts";
import {
  endWithUnknownOutcome,
  type KeyedRequest,
  keyStillHeld,
  keyWithReply,
  replyFromRecord,
} from "../records/keyed_request.ts";
import { gatewayDownProblem } from "../records/problems.ts";
import { actAs } from "../records/record.ts";
import { applyReport } from "./apply_report.ts";
import { checkForAction, requireTransaction } from "./check_at_gateway.ts";
import {
  amountTooHigh,
  changePayment,
  gatewayProblem,
  invalidState,
  type PaymentDeps,
  paymentKind,
  problemAbout,
  unclearAnswer,
} from "./payment_record.ts";
import { allowsAction, REFUNDABLE } from "./states.ts";
import { callOptions, matchesPayment } from "./transaction.ts";
import { type PaymentView, viewPayment } from "./views.ts";

type PaymentAction =
  | { name: "cancel" | "expire" | "approve" | "deny" }
  /** Without an amount, the full authorization is captured. */
  | { name: "capture"; amount?: number };

export interface CaptureInput {
  amount?: number;
}

export async function cancelPayment(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
  requestKey: RequestKey | null,
): Promise<RequestResult<PaymentView>> {
  return await act(deps, caller, id, requestKey, { name: "cancel" });
}

export async function expirePayment(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
  requestKey: RequestKey | null,
): Promise<RequestResult<PaymentView>> {
  return await act(deps, caller, id, requestKey, { name: "expire" });
}

export async function capturePayment(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
  { amount }: CaptureInput,
  requestKey: RequestKey | null,
): Promise<RequestResult<PaymentView>> {
  return await act(deps, caller, id, requestKey, { name: "capture", amount });
}

/** Accepts a payment that the gateway's fraud detection has challenged. Only for staff. */
export async function approvePayment(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
  requestKey: RequestKey | null,
): Promise<RequestResult<PaymentView>> {
  requireStaff(caller);
  return await act(deps, caller, id, requestKey, { name: "approve" });
}

/** Rejects a payment that the gateway's fraud detection has challenged. Only for staff. */
export async function denyPayment(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
  requestKey: RequestKey | null,
): Promise<RequestResult<PaymentView>> {
  requireStaff(caller);
  return await act(deps, caller, id, requestKey, { name: "deny" });
}

/**
 * Claims the key, checks the state, calls the gateway, classifies its response, applies it,
 * replies.
 */
async function act(
  service: PaymentDeps,
  caller: Caller,
  id: string,
  requestKey: RequestKey | null,
  action: PaymentAction,
): Promise<RequestResult<PaymentView>> {
  const deps = actAs(service, caller);
  const begun = await beginAction(deps, paymentKind, caller, id, requestKey);
  if (begun.kind === "replay") return { body: begun.body as PaymentView, isReplayed: true };
  const { request } = begun;
  const isResumed = begun.kind === "resume";
  try {
    let payment = begun.record;
    if (isResumed) payment = await checkForAction(deps, payment, action.name, "unknown");
    const wasDone = (current: GatewayPayment) => isResumed && isDone(action, current);
    if (!wasDone(payment)) {
      requireAllowed(action, payment);
      if (deps.gateway.breakerState("write") === "open") {
        throw gatewayDownProblem(isResumed ? "unknown" : "refused");
      }
      payment = await requireTransaction(deps, payment, action.name);
      payment = await changePayment(deps, payment, (current) => {
        if (wasDone(current)) return null;
        requireAsShown(paymentKind, request, current);
        requireAllowed(action, current);
        const check_at = checkTimeAfterCall(current, deps.clock());
        return { set: { check_at }, key: keyStillHeld(request) };
      });
    }
    if (wasDone(payment)) {
      const body = await replyFromRecord(deps, paymentKind, request, payment);
      return { body, isReplayed: false };
    }
    let answer: GatewayResponse<Transaction>;
    try {
      answer = await callGateway(deps.gateway, payment, action);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const body = await resolveFailure(deps, request, payment, action, error, isResumed);
      return { body, isReplayed: false };
    }
    const isAnswer = matchesPayment(payment, answer.body);
    if (isAnswer && action.name === "capture" && isDenied(answer)) {
      throw await captureDenied(deps, request, payment, answer);
    }
    if (!isAnswer || !confirms(answer.body, action, payment)) {
      const problem = unclearAnswer(payment, answer.statusCode);
      throw await endWithUnknownOutcome(deps, paymentKind, request, payment, problem);
    }
    const key = keyWithReply(request, viewPayment, new Date(deps.clock()));
    const report = { answer: answer.body, source: action.name, askedAtVersion: null, key };
    const applied = await applyReport(deps, payment, report);
    return { body: viewPayment(applied.payment), isReplayed: false };
  } catch (error) {
    throw await endWithError(deps, paymentKind, request, begun.record, error);
  }
}

/** Returns the reply if the action was done by an earlier attempt; otherwise throws. */
async function resolveFailure(
  deps: PaymentDeps,
  request: KeyedRequest,
  payment: GatewayPayment,
  action: PaymentAction,
  error: GatewayError,
  isResumed: boolean,
): Promise<PaymentView> {
  const isWrongState = error.statusCode === "412";
  const failure = classifyActionFailure(error, { isResumed, isWrongState });
  if (failure === "unknown") {
    const problem = gatewayProblem(error, payment, "unknown");
    throw await endWithUnknownOutcome(deps, paymentKind, request, payment, problem);
  }
  if (failure === "refused") throw gatewayProblem(error, payment);
  const outcome = isResumed ? "unknown" : "refused";
  const current = await checkForAction(deps, payment, action.name, outcome);
  if (isResumed && isDone(action, current)) {
    return await replyFromRecord(deps, paymentKind, request, current);
  }
  throw invalidState(current, `The gateway rejected the request: ${error.message}`);
}

/** Throws if the payment's state does not allow the action. */
function requireAllowed(action: PaymentAction, payment: GatewayPayment): void {
  const { transaction_status: status, fraud_status, payment_type, gross_amount } = payment;
  const isAllowed = allowsAction({ status, fraud: fraud_status }, payment_type, action.name);
  switch (action.name) {
    case "cancel":
      if (isAllowed) return;
      throw invalidState(
        payment,
        `A payment with status ${status} cannot be cancelled.` +
          (REFUNDABLE.includes(status) ? " Refund it instead." : ""),
      );
    case "expire":
      if (isAllowed) return;
      throw invalidState(
        payment,
        `Only a pending payment can be expired; this one has the status ${status}.`,
      );
    case "capture":
      if (!isAllowed) {
        const detail =
          `Only an authorized card payment can be captured; this one has the status ${status}.`;
        throw invalidState(payment, detail);
      }
      if (captureAmount(action, payment) > gross_amount) {
        throw amountTooHigh(payment, gross_amount, "the authorized amount");
      }
      return;
    case "approve":
    case "deny":
      if (isAllowed) return;
      throw invalidState(payment, "Only a challenged payment can be approved or denied.");
  }
}

function callGateway(
  gateway: GatewayClient,
  payment: GatewayPayment,
  action: PaymentAction,
): Promise<GatewayResponse<Transaction>> {
  const { id, denied_captures } = payment;
  const transactionId = payment.transaction_id!;
  const withKey = (suffix: string) => ({
    ...callOptions(payment),
    idempotencyKey: `${id}:${suffix}`,
  });
  switch (action.name) {
    case "cancel":
      return gateway.cancel(transactionId, withKey("can"));
    case "expire":
      return gateway.expire(transactionId, withKey("exp"));
    case "capture": {
      // The gateway repeats a denial for the same key, so each attempt after a denial has a new
      // key.
      const attempt = denied_captures === 0 ? "" : denied_captures + 1;
      const amount = captureAmount(action, payment);
      return gateway.capture(transactionId, amount, withKey(`cap${attempt}`));
    }
    case "approve":
      return gateway.approve(transactionId, withKey("app"));
    case "deny":
      return gateway.deny(transactionId, withKey("den"));
  }
}

/** Whether the gateway's response says that the action was done. */
function confirms(answer: Transaction, action: PaymentAction, payment: GatewayPayment): boolean {
  switch (action.name) {
    case "cancel":
    case "expire":
      return answer.transaction_status === action.name;
    case "deny":
      return isReviewDenied(answer);
    case "approve":
      return answer.fraud_status === "accept";
    case "capture":
      return answer.transaction_status === "capture" &&
        parseMoney(answer.gross_amount) === captureAmount(action, payment);
  }
}

/** Whether the payment already is in the state that the action leads to. */
function isDone(action: PaymentAction, payment: GatewayPayment): boolean {
  switch (action.name) {
    case "cancel":
    case "expire":
      return payment.transaction_status === action.name;
    case "deny":
      return isReviewDenied(payment);
    case "approve":
      return payment.fraud_status === "accept";
    case "capture":
      return payment.captured_amount === captureAmount(action, payment);
  }
}

/**
 * After a denied review, the gateway reports `cancel` with the fraud status `deny`. It used to
 * report `deny`.
 */
function isReviewDenied(
  { transaction_status, fraud_status }: Pick<Transaction, "transaction_status" | "fraud_status">,
): boolean {
  return transaction_status === "deny" ||
    (transaction_status === "cancel" && fraud_status === "deny");
}

function captureAmount({ amount }: CaptureInput, { gross_amount }: GatewayPayment): number {
  return amount ?? gross_amount;
}

/**
 * Counts the denied capture and returns the error. The authorization stays valid: the capture can
 * be tried again, or the payment cancelled.
 */
async function captureDenied(
  deps: PaymentDeps,
  request: KeyedRequest,
  known: GatewayPayment,
  { body }: GatewayResponse<Transaction>,
): Promise<ServiceError> {
  const payment = await changePayment(deps, known, ({ denied_captures }) => ({
    set: { denied_captures: denied_captures + 1 },
    key: keyStillHeld(request),
  }));
  return problemAbout("capture_denied", payment, "refused", {
    detail: body.status_message ?? undefined,
    members: { payment: viewPayment(payment) },
  });
}
