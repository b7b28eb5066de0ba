/** `cancelPayment`, `expirePayment`, `capturePayment`, `approvePayment` and `denyPayment`. */

import type { GatewayPayment } from "../../db/payments/payments.ts";
import { requireStaff } from "../auth/caller.ts";
import type { ServiceError } from "../errors.ts";
import type { GatewayClient } from "../gateway/client.ts";
import {
  type GatewayResponse,
  isDenied,
  isEarlierCallInProgress,
  type Transaction,
} from "../gateway/responses.ts";
import type { RequestResult } from "../idempotency/keys.ts";
import { parseMoney } from "../money.ts";
import { act, type Action, type ActionRequest } from "../records/act.ts";
import type { KeyChange } from "../records/record.ts";
import type { Service } from "../service.ts";
import { applyReport } from "./apply_report.ts";
import { checkForAction, requireTransaction, tryRequestStatus } from "./check_at_gateway.ts";
import {
  amountTooHigh,
  changePayment,
  invalidState,
  paymentKind,
  problemAbout,
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
  service: Service,
  request: ActionRequest,
): Promise<RequestResult<PaymentView>> {
  return await actOn(service, request, { name: "cancel" });
}

export async function expirePayment(
  service: Service,
  request: ActionRequest,
): Promise<RequestResult<PaymentView>> {
  return await actOn(service, request, { name: "expire" });
}

export async function capturePayment(
  service: Service,
  request: ActionRequest,
  { amount }: CaptureInput,
): Promise<RequestResult<PaymentView>> {
  return await actOn(service, request, { name: "capture", amount });
}

/** Accepts a payment that the gateway's fraud detection has challenged. Only for staff. */
export async function approvePayment(
  service: Service,
  request: ActionRequest,
): Promise<RequestResult<PaymentView>> {
  requireStaff(request.caller);
  return await actOn(service, request, { name: "approve" });
}

/** Rejects a payment that the gateway's fraud detection has challenged. Only for staff. */
export async function denyPayment(
  service: Service,
  request: ActionRequest,
): Promise<RequestResult<PaymentView>> {
  requireStaff(request.caller);
  return await actOn(service, request, { name: "deny" });
}

async function actOn(
  service: Service,
  request: ActionRequest,
  action: PaymentAction,
): Promise<RequestResult<PaymentView>> {
  return await act(service, paymentKind, request, (asCaller) => actionWith(asCaller, action));
}

function actionWith(
  service: Service,
  action: PaymentAction,
): Action<GatewayPayment, Transaction> {
  return {
    requireAllowed: (payment) => requireAllowed(action, payment),
    isDone: (payment) => isDone(action, payment),
    check: (payment, outcome) => checkForAction(service, payment, action.name, outcome),
    prepare: (payment) => requireTransaction(service, payment, action.name),
    call: (payment) => callGateway(service.gateway, payment, action),
    isWrongState: ({ statusCode }) => statusCode === "412",
    async denial(payment, answer, key) {
      if (action.name !== "capture") return null;
      return isDenied(answer) && matchesPayment(payment, answer.body)
        ? await captureDenied(service, payment, answer, key)
        : await otherCapture(service, payment, answer, action);
    },
    confirms: ({ body }, payment) =>
      matchesPayment(payment, body) && confirms(body, action, payment),
    async apply(payment, answer, key) {
      const report = { answer, source: action.name, askedAtVersion: null, key };
      return (await applyReport(service, payment, report)).payment;
    },
  };
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
  service: Service,
  known: GatewayPayment,
  { body }: GatewayResponse<Transaction>,
  key: KeyChange<GatewayPayment> | null,
): Promise<ServiceError> {
  const payment = await changePayment(service, known, ({ denied_captures }) => ({
    set: { denied_captures: denied_captures + 1 },
    key,
  }));
  return problemAbout("capture_denied", payment, "refused", {
    detail: body.status_message ?? undefined,
    members: { payment: viewPayment(payment) },
  });
}

/**
 * All captures of a payment have the same key at the gateway, so that it makes only one of them. If
 * two callers capture different amounts at the same moment, the second call gets the response to
 * the first one, or a response that the first one is still running. Returns the error of a capture
 * that can no longer be made, because another amount was captured. Null: that is not certain.
 */
async function otherCapture(
  service: Service,
  known: GatewayPayment,
  answer: GatewayResponse<Transaction>,
  action: CaptureInput,
): Promise<ServiceError | null> {
  const isRunning = isEarlierCallInProgress(answer);
  const captured = isRunning ? await tryRequestStatus(service, known) : answer.body;
  if (!captured || !isCaptured(known, captured)) return null;
  const amount = parseMoney(captured.gross_amount);
  if (amount === null || amount === captureAmount(action, known)) return null;
  const { payment } = await applyReport(service, known, {
    answer: captured,
    source: "capture",
    askedAtVersion: isRunning ? known.version : null,
  });
  return invalidState(payment, "Another request has captured another amount of this payment.");
}

function isCaptured(payment: GatewayPayment, transaction: Transaction): boolean {
  const { transaction_status: status } = transaction;
  return matchesPayment(payment, transaction) && (status === "capture" || status === "settlement");
}
