/** Checks payments at the gateway and applies its responses. */

import type { GatewayNotification } from "../../db/payments/notifications.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import type { Caller } from "../auth/caller.ts";
import {
  GatewayError,
  type GatewayOutcome,
  isTransactionNotFound,
  unusableResponse,
} from "../gateway/errors.ts";
import type { JsonObject } from "../gateway/json.ts";
import type { GatewayResponse, Transaction } from "../gateway/responses.ts";
import { MAX_CHECKS } from "../records/check_times.ts";
import { findOwn } from "../records/read.ts";
import { actAs } from "../records/record.ts";
import type { Service } from "../service.ts";
import { type AppliedReport, applyReport, type Source } from "./apply_report.ts";
import { type Evidence, matchTransaction } from "./match_transaction.ts";
import { notAtGatewayYet, paymentKind, problems } from "./payment_record.ts";
import { callOptions, isAboutPayment, matchesPayment } from "./transaction.ts";
import { type PaymentView, viewPayment } from "./views.ts";

export interface CheckedPayment {
  payment: GatewayPayment;
  /** The response with its signature; null: the gateway has no transaction of this payment. */
  raw: JsonObject | null;
  /** False: the gateway has no transaction of this payment. */
  isFound: boolean;
  /** The applied response; null: the gateway has no transaction of this payment. */
  applied: AppliedReport | null;
}

/** Throws a `GatewayError` if the gateway gives no usable response. */
export async function checkAtGateway(
  service: Service,
  known: GatewayPayment,
  source: Source,
  notification?: GatewayNotification,
): Promise<CheckedPayment> {
  const notFound = { raw: null, isFound: false, applied: null };
  // The gateway refused the charge, so it has no transaction.
  if (known.is_refused) return { payment: known, ...notFound };
  for (let payment = known, checks = 1;; checks++) {
    const answer = await requestStatus(service, payment);
    if (!answer) return { payment, ...notFound };
    const report = { answer: answer.body, source, askedAtVersion: payment.version, notification };
    const applied = await applyReport(service, payment, report);
    // Another report changed the payment during the request, so the response may be outdated.
    const isReportStale = applied.step === "stale" && applied.payment.version !== payment.version;
    payment = applied.payment;
    if (!isReportStale || checks >= MAX_CHECKS) {
      return { payment, raw: answer.raw, isFound: true, applied };
    }
  }
}

/** Null: the gateway has no transaction of this payment. */
async function requestStatus(
  service: Service,
  payment: GatewayPayment,
): Promise<GatewayResponse<Transaction> | null> {
  if (payment.transaction_id !== null) {
    return await getById(service, payment, payment.transaction_id);
  }
  const found = await findByOrder(service, payment);
  return found.type === "ours" ? found.answer : null;
}

/** The transaction as the gateway has it; null: the gateway gave no usable response. */
export async function tryRequestStatus(
  { gateway }: Service,
  payment: GatewayPayment,
): Promise<Transaction | null> {
  try {
    const { body } = await gateway.getStatus(payment.transaction_id!, callOptions(payment));
    return matchesPayment(payment, body) ? body : null;
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

async function getById(
  { gateway, log }: Service,
  payment: GatewayPayment,
  transactionId: string,
): Promise<GatewayResponse<Transaction>> {
  try {
    const answer = await gateway.getStatus(transactionId, callOptions(payment));
    if (isAboutPayment(payment, answer.body)) return answer;
    const error = unusableResponse(
      "The gateway's response is about another transaction",
      answer.statusCode,
    );
    log.error("other_transaction", error, { payment_id: payment.id });
    throw error;
  } catch (error) {
    // The server key is wrong, or the sandbox was reset. The payment has not failed.
    if (isTransactionNotFound(error)) {
      log.error("transaction_unknown_to_gateway", error, { payment_id: payment.id });
    }
    throw error;
  }
}

export type FoundByOrder =
  | { type: "ours"; answer: GatewayResponse<Transaction>; evidence: Evidence }
  /** The gateway has no such order, or does not have it yet. */
  | { type: "none" }
  /** Another payment, or another system, has a transaction with this order id. */
  | { type: "other"; answer: GatewayResponse<Transaction> };

/**
 * Looks for the transaction of a charge that was not answered. Throws a `GatewayError` if the
 * gateway gives no usable response.
 */
export async function findByOrder(
  service: Service,
  payment: GatewayPayment,
): Promise<FoundByOrder> {
  const { gateway, log } = service;
  try {
    const answer = await gateway.getStatus(payment.order_id, callOptions(payment));
    // If the response does not name the order, it is the one that was requested.
    const order_id = answer.body.order_id ?? payment.order_id;
    const match = await matchTransaction(service, payment, { ...answer.body, order_id });
    if (match.type !== "unclear") return { ...match, answer };
    const error = unusableResponse(
      "The gateway's charge differs from the one that was sent",
      answer.statusCode,
    );
    const { difference } = match;
    log.error("charge_differs", error, { payment_id: payment.id, difference });
    throw error;
  } catch (error) {
    if (isTransactionNotFound(error)) return { type: "none" };
    throw error;
  }
}

/** Checks the payment for an action. If the check fails, the error has the action's `outcome`. */
export async function checkForAction(
  service: Service,
  payment: GatewayPayment,
  source: Source,
  outcome: GatewayOutcome,
): Promise<GatewayPayment> {
  try {
    return (await checkAtGateway(service, payment, source)).payment;
  } catch (error) {
    throw problems.checkFailed(payment, outcome, error);
  }
}

/** Returns the payment with its transaction id. Requests the id if the charge was not answered. */
export async function requireTransaction(
  service: Service,
  payment: GatewayPayment,
  source: Source,
): Promise<GatewayPayment> {
  if (payment.transaction_id !== null) return payment;
  const found = await checkForAction(service, payment, source, "refused");
  if (found.transaction_id === null) throw notAtGatewayYet(found);
  return found;
}

export interface CheckedStatus {
  payment: PaymentView;
  /** Null if the gateway has no transaction of this payment. */
  gateway_response: Record<string, unknown> | null;
}

/** The payment after a check at the gateway, with the gateway's response. */
export async function getStatus(
  service: Service,
  caller: Caller,
  id: string,
): Promise<CheckedStatus> {
  const asCaller = actAs(service, caller);
  const known = await findOwn(asCaller, paymentKind, caller, id);
  try {
    const { payment, raw } = await checkAtGateway(asCaller, known, "check_status");
    return { payment: viewPayment(payment), gateway_response: raw && withoutSignature(raw) };
  } catch (error) {
    throw problems.checkFailed(known, "refused", error);
  }
}

/** With the signature, a caller could forge a notification. */
function withoutSignature({ signature_key: _, ...rest }: Record<string, unknown>) {
  return rest;
}
