/** `createCharge`: creates a payment and charges it at the gateway. */

import type { GatewayPayment } from "../../db/payments/payments.ts";
import { findPayment, listUnansweredOfOrder } from "../../db/payments/statements.ts";
import type { Caller } from "../auth/caller.ts";
import { requireOrderPrefix } from "../auth/order_prefix.ts";
import { ServiceError } from "../errors.ts";
import type { Permit } from "../gateway/circuit_breaker.ts";
import { GatewayDuplicateOrderError, GatewayError } from "../gateway/errors.ts";
import { notificationUrl } from "../gateway/notification_url.ts";
import type { ChargePayload } from "../gateway/operations.ts";
import { retryAt } from "../gateway/rate_limit.ts";
import {
  type GatewayResponse,
  isEarlierCallInProgress,
  type Transaction,
} from "../gateway/responses.ts";
import { parseTransactionTime } from "../gateway/times.ts";
import {
  keyLifetimeMs,
  mayRepeatLostRequest,
  type RequestKey,
  type RequestResult,
} from "../idempotency/keys.ts";
import { replyFor } from "../idempotency/reply.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import {
  type EarlierRecord,
  insertRecord,
  type NewRecord,
  type RecordCreation,
} from "../records/create.ts";
import { generatedOrders } from "../records/generated_orders.ts";
import {
  endCreation,
  endWithUnknownOutcome,
  type KeyedRequest,
  keyStillClaimed,
  keyWithError,
  keyWithReply,
  replyFromRecord,
} from "../records/keyed_request.ts";
import { actAs } from "../records/record.ts";
import type { Service } from "../service.ts";
import { countCharge, recordAddedLatency } from "../telemetry/telemetry.ts";
import { applyRefusal, applyReport } from "./apply_report.ts";
import type { ChargeInput } from "./charge_input.ts";
import { findByOrder, type FoundByOrder } from "./check_at_gateway.ts";
import { matchTransaction } from "./match_transaction.ts";
import { newPayment, orderIdFrom } from "./new_payment.ts";
import {
  changePayment,
  checkPaymentJob,
  gatewayProblem,
  orderExistsAtGateway,
  paymentKind,
  problems,
  unclearAnswer,
} from "./payment_record.ts";
import { isExpired, isFailed, isStatus } from "./states.ts";
import { answersCharge } from "./transaction.ts";
import { type PaymentView, viewPayment } from "./views.ts";

/** Whether the charge is an attempt of a checkout, which has reserved the order id. */
export interface ChargedAttempt {
  checkout_id?: string;
}

export async function createCharge(
  service: Service,
  caller: Caller,
  input: ChargeInput & ChargedAttempt,
  requestKey: RequestKey | null,
): Promise<RequestResult<PaymentView>> {
  const { payment_type } = input;
  try {
    const result = await makeCharge(actAs(service, caller), caller, input, requestKey);
    if (!result.isReplayed) countCharge({ payment_type, result: result.body.transaction_status });
    return result;
  } catch (error) {
    const result = error instanceof ServiceError ? error.code : "internal_error";
    countCharge({ payment_type, result });
    throw error;
  }
}

/**
 * Claims the idempotency key and inserts the payment, calls the gateway, classifies its response,
 * applies it, and replies.
 */
async function makeCharge(
  service: Service,
  caller: Caller,
  input: ChargeInput & ChargedAttempt,
  requestKey: RequestKey | null,
): Promise<RequestResult<PaymentView>> {
  const startedAt = performance.now();
  requireOrderPrefix(caller, input);
  const claim = await claimCharge(service, caller, input, requestKey);
  if (claim.type === "replay") return { body: claim.body, isReplayed: true };
  const { payment, request } = claim;
  using probe = claim.type === "new" ? claim.probe : null;
  try {
    if (claim.type === "answered") {
      const body = await replyFromRecord(service, paymentKind, request, payment);
      return { body, isReplayed: false };
    }
    const calledAt = performance.now();
    const charge = claim.type === "found"
      ? claim.charge
      : await sendCharge(service, input, payment, claim, probe);
    const gatewayMs = performance.now() - calledAt;
    if (charge.type === "unfinished") {
      throw await endUnfinished(service, request, payment, charge.problem);
    }
    if (charge.type === "refused") {
      const key = keyWithError(request, charge.problem);
      const isEventNeeded = !charge.mayOrderBePaid;
      await applyRefusal(service, payment, charge.error, { key, isEventNeeded });
      throw charge.problem;
    }
    const body = await applyCharge(service, request, payment, charge);
    if (claim.type === "new") {
      const addedMs = performance.now() - startedAt - gatewayMs;
      recordAddedLatency(addedMs, { payment_type: input.payment_type });
    }
    return { body, isReplayed: false };
  } catch (error) {
    throw endCreation(service, paymentKind, request, payment, error);
  }
}

type ChargeClaim =
  | { type: "replay"; body: PaymentView }
  | {
    type: "new";
    payment: GatewayPayment;
    request: KeyedRequest;
    probe: NewRecord<GatewayPayment>["probe"];
  }
  /** An earlier request stopped before the gateway answered it: send the charge again. */
  | { type: "resend"; payment: GatewayPayment; request: KeyedRequest }
  /** An earlier request stopped after the gateway answered it: only its reply is missing. */
  | { type: "answered"; payment: GatewayPayment; request: KeyedRequest }
  /** An earlier request was not answered, but the gateway has its transaction. */
  | { type: "found"; payment: GatewayPayment; request: KeyedRequest; charge: MadeCharge };

/** Inserts the payment, or finds out how far an earlier request with the same key got. */
async function claimCharge(
  service: Service,
  caller: Caller,
  input: ChargeInput & ChargedAttempt,
  requestKey: RequestKey | null,
): Promise<ChargeClaim> {
  const toOrderId = (id: string) => orderIdFrom(id, caller.orderPrefix);
  const orders = generatedOrders(service, caller, requestKey, toOrderId);
  let replaces: EarlierRecord<GatewayPayment> | null = null;
  for (;;) {
    // A payment that replaces an earlier one keeps its order id. The gateway accepts only one
    // charge for each order id, so it cannot charge twice if the earlier request still arrives.
    const known: string | undefined = input.order_id ?? replaces?.record?.order_id;
    const order_id = known ?? orders.current();
    const isOrderGenerated = known === undefined && order_id !== undefined;
    const now = new Date(service.clock());
    const record = newPayment({ ...input, order_id }, caller.userId, now, caller.orderPrefix);
    const insert: RecordCreation<GatewayPayment> = {
      caller,
      requestKey,
      record,
      replaces,
      isOrderGenerated,
    };
    const inserted = await insertRecord(service, paymentKind, insert);
    if (inserted.type === "order_in_use") {
      await orders.next();
      replaces = inserted.earlier;
      continue;
    }
    if (inserted.type === "new") return { ...inserted, payment: record };
    if (inserted.type === "replay") return inserted;
    const { earlier, request } = inserted;
    const resumed = earlier?.record && await resumeCharge(service, request, earlier.record);
    if (resumed) return resumed;
    // With this, the next insert takes over the key, which refers to the earlier payment.
    replaces = earlier;
  }
}

/** Null: the earlier charge was never made, so a new payment replaces it. */
async function resumeCharge(
  service: Service,
  request: KeyedRequest,
  payment: GatewayPayment,
): Promise<ChargeClaim | null> {
  if (payment.is_refused) return null;
  if (payment.transaction_id !== null) return { type: "answered", payment, request };
  try {
    const found = await tryFindByOrder(service, payment);
    if (found.type === "failed") {
      throw await endUnfinished(service, request, payment, found.problem);
    }
    if (found.type === "ours") {
      const { version: askedAtVersion } = payment;
      const charge = { type: "made", transaction: found.answer.body, askedAtVersion } as const;
      return { type: "found", payment, request, charge };
    }
    if (payment.transaction_status !== "pending") return null;
    return { type: "resend", payment: await markSent(service, request, payment), request };
  } catch (error) {
    throw endCreation(service, paymentKind, request, payment, error);
  }
}

/**
 * Starts a new grace period: the gateway may need some time to list a charge that is sent again.
 */
async function markSent(
  service: Service,
  request: KeyedRequest,
  payment: GatewayPayment,
): Promise<GatewayPayment> {
  const now = service.clock();
  return await changePayment(service, payment, () => ({
    set: { sent_at: new Date(now), check_at: new Date(now + UNANSWERED_CHECK_MS) },
    key: keyStillClaimed(request),
  }));
}

/** `askedAtVersion`: the payment's version at the status request; null: no status was requested. */
interface MadeCharge {
  type: "made";
  transaction: Transaction;
  askedAtVersion: number | null;
}

type SentCharge =
  | MadeCharge
  | {
    type: "refused";
    problem: ServiceError;
    error: GatewayError;
    /** The gateway has a transaction with this order id, which is not of this payment. */
    mayOrderBePaid: boolean;
  }
  /** The outcome is unknown, or a retry with the same key can still make the charge. */
  | { type: "unfinished"; problem: ServiceError };

async function sendCharge(
  service: Service,
  input: ChargeInput,
  payment: GatewayPayment,
  { type, request }: { type: "new" | "resend"; request: KeyedRequest },
  permit: Permit | null,
): Promise<SentCharge> {
  if (request.key && mayRepeatLostRequest(service)) {
    const lost = await findLostCharge(service, payment);
    if (lost) return lost;
  }
  // If this process was paused, the charge may have been given up, and the customer may have paid
  // by another one.
  if (service.clock() >= payment.sent_at.getTime() + UNANSWERED_CHECK_MS) {
    return { type: "unfinished", problem: problems.sentTooLate(payment) };
  }
  let answer: GatewayResponse<Transaction>;
  try {
    const payload = chargePayload(input, payment);
    answer = await service.gateway.charge(payload, {
      idempotencyKey: payment.id,
      permit,
      notificationUrl: notificationUrl(service.links.publicUrl(), service.gateway.baseUrl),
    });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return await resolveFailure(service, payment, error, {
      wasSentBefore: type === "resend",
      hasKey: request.key !== null,
    });
  }
  if (isEarlierCallInProgress(answer) || !answersCharge(payment, answer.body)) {
    return { type: "unfinished", problem: unclearAnswer(payment, answer.statusCode) };
  }
  return { type: "made", transaction: answer.body, askedAtVersion: null };
}

/** The request to the gateway. */
function chargePayload(input: ChargeInput, payment: GatewayPayment): ChargePayload {
  const { payment_type, gross_amount, customer_details, item_details } = input;
  const custom_expiry = "custom_expiry" in input ? input.custom_expiry : undefined;
  const typeOptions = withoutUndefined(optionsOf(input, payment));
  return {
    payment_type,
    transaction_details: { order_id: payment.order_id, gross_amount },
    ...withoutUndefined({ customer_details, item_details, custom_expiry }),
    ...Object.fromEntries(
      (input.custom_fields ?? []).map((text, index) => [`custom_field${index + 1}`, text]),
    ),
    // Proves that a transaction belongs to this payment. The order id does not: it may be reused.
    metadata: { ...input.metadata, payment_ref: payment.id },
    ...Object.keys(typeOptions).length > 0 && { [payment_type]: typeOptions },
  };
}

/** The object that the gateway expects under the name of the payment type; omitted if empty. */
function optionsOf(input: ChargeInput, { order_id }: GatewayPayment): object {
  switch (input.payment_type) {
    case "credit_card":
      return {
        token_id: input.token_id,
        authentication: input.authentication,
        ...input.authorize && { type: "authorize" },
        ...input.save_token_id && { save_token_id: true },
        installment_term: input.installment_term,
      };
    case "bank_transfer":
      return { bank: input.bank, va_number: input.va_number };
    case "echannel":
      return {
        bill_info1: input.bill_info1 ?? "Payment",
        bill_info2: input.bill_info2 ?? order_id,
      };
    case "gopay":
      return {
        enable_callback: input.callback_url !== undefined,
        callback_url: input.callback_url,
      };
    case "shopeepay":
      return { callback_url: input.callback_url };
    case "ovo":
      return { payer_phone_number: input.customer_details.phone };
    case "qris":
      return { acquirer: input.acquirer };
    case "cstore":
      return { store: input.store };
    case "dana":
    case "akulaku":
    case "kredivo":
      return {};
  }
}

function withoutUndefined(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** Finds out whether the failed call, or an earlier attempt, has made the charge. */
async function resolveFailure(
  service: Service,
  payment: GatewayPayment,
  error: GatewayError,
  { wasSentBefore, hasKey }: { wasSentBefore: boolean; hasKey: boolean },
): Promise<SentCharge> {
  const unknownOutcome = {
    type: "unfinished",
    problem: gatewayProblem(error, payment, "unknown"),
  } as const;
  if (error.outcome !== "refused") return unknownOutcome;
  const isOrderIdInUse = error instanceof GatewayDuplicateOrderError;
  if (!isOrderIdInUse && !wasSentBefore) {
    const problem = gatewayProblem(error, payment);
    // A retry with the same key sends the charge of this payment, which has not failed until then.
    const canRetry = hasKey && replyFor(problem) === null;
    if (canRetry) return { type: "unfinished", problem };
    return { type: "refused", problem, error, mayOrderBePaid: false };
  }
  const found = await tryFindByOrder(service, payment);
  if (found.type === "failed") return { type: "unfinished", problem: found.problem };
  const isListed = found.type === "ours" || found.type === "other";
  const earlier = isListed ? await listEarlierPayments(service, payment) : [];
  // If the service sent this order for the first time, another system has created the transaction,
  // unless the transaction names this payment.
  const wasOrderSentBefore = wasSentBefore || earlier.length > 0;
  const isOurs = found.type === "ours" &&
    (wasOrderSentBefore || found.evidence === "payment_ref");
  // A request without a key is not a retry, so another system has created the transaction. An
  // earlier attempt of this payment would have named it.
  const isNamed = isListed && Boolean(found.answer.body.metadata?.payment_ref);
  const canBeLost = hasKey && isListed && (!wasOrderSentBefore || isNamed);
  if (isOurs || (canBeLost && await isLostCharge(service, payment, found.answer.body))) {
    return { type: "made", transaction: found.answer.body, askedAtVersion: payment.version };
  }
  if (isListed) await enqueueChecksOfEarlier(service, earlier, found.answer.body);
  // After an earlier attempt, the refusal is certain only if another payment has the order id: then
  // no attempt of this payment can have succeeded. Otherwise the gateway may still list the earlier
  // attempt later.
  const isCertainlyRefused = !wasSentBefore || (isOrderIdInUse && isListed);
  if (!isCertainlyRefused) return unknownOutcome;
  if (!isOrderIdInUse) {
    const problem = gatewayProblem(error, payment);
    return { type: "refused", problem, error, mayOrderBePaid: false };
  }
  const mayOrderBePaid = !isListed || mayBePaid(found.answer.body);
  const problem = mayOrderBePaid
    ? orderExistsAtGateway(payment, error)
    : problems.orderIdInUse(payment, error);
  return { type: "refused", problem, error, mayOrderBePaid };
}

/**
 * After a restore, a charge with a key may repeat one that the database has lost. Its transaction
 * may have ended without a payment, and the gateway would then accept the order id again. Null:
 * there is no such transaction.
 */
async function findLostCharge(
  service: Service,
  payment: GatewayPayment,
): Promise<SentCharge | null> {
  const found = await tryFindByOrder(service, payment);
  if (found.type === "failed") return { type: "unfinished", problem: found.problem };
  if (found.type === "none") return null;
  const transaction = found.answer.body;
  const isNamed = found.type === "ours" && found.evidence === "payment_ref";
  const isOurs = isNamed || await isLostCharge(service, payment, transaction);
  return isOurs ? { type: "made", transaction, askedAtVersion: payment.version } : null;
}

type FoundOrFailed = FoundByOrder | { type: "failed"; problem: ServiceError };

/** If the status request fails, the outcome of the charge is still unknown. */
async function tryFindByOrder(service: Service, payment: GatewayPayment): Promise<FoundOrFailed> {
  try {
    return await findByOrder(service, payment);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { type: "failed", problem: gatewayProblem(error, payment, "unknown") };
  }
}

/**
 * Whether a caller's retry of a lost charge is the explanation for a transaction with the order id
 * of a new payment: it agrees with the charge in everything but the time, it is not older than the
 * caller's key can be, and no payment of this database has created it. A database loses a charge if
 * it is restored from a backup, for example. See docs/restoring.md.
 */
async function isLostCharge(
  service: Service,
  payment: GatewayPayment,
  found: Transaction,
): Promise<boolean> {
  const createdAt = parseTransactionTime(found.transaction_time);
  if (!createdAt || createdAt.getTime() < service.clock() - keyLifetimeMs(service)) return false;
  const { payment_ref, ...metadata } = found.metadata ?? {};
  if (await isPaymentKnown(service, payment_ref)) return false;
  // Compared as if the charge had been sent when the transaction was created.
  const lost = { ...payment, created_at: createdAt, sent_at: createdAt };
  const { type } = await matchTransaction(service, lost, { ...found, metadata });
  if (type !== "ours") return false;
  service.log.info("lost_charge_taken_over", { payment_id: payment.id });
  return true;
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function isPaymentKnown({ database }: Service, reference: unknown): Promise<boolean> {
  if (typeof reference !== "string" || !ID.test(reference)) return false;
  return await database.query((sql) => findPayment(sql, reference), "find payment") !== null;
}

/** Whether the customer may have paid the transaction, or can still pay it. */
function mayBePaid({ transaction_status: status }: Transaction): boolean {
  return !isStatus(status) ||
    !(isFailed({ status, fraud: null }) || isExpired({ status, fraud: null }));
}

/**
 * Earlier payments of the same order that were given up, although their charge may have been made.
 */
async function listEarlierPayments(
  { database }: Service,
  { id, order_id }: GatewayPayment,
): Promise<GatewayPayment[]> {
  const unanswered = await database.query(
    (sql) => listUnansweredOfOrder(sql, order_id),
    "list payments of order",
  );
  return unanswered.filter((each) => each.id !== id);
}

/**
 * The transaction may belong to an earlier payment, whose charge reached the gateway only after the
 * payment was given up. Enqueues a check of that payment. If the transaction names no payment, all
 * earlier payments are checked a minute later, when the new payment is stored as refused: until
 * then, the order id is reserved for the new payment.
 */
async function enqueueChecksOfEarlier(
  service: Service,
  earlier: GatewayPayment[],
  { metadata }: Transaction,
): Promise<void> {
  const ref = metadata?.payment_ref ?? null;
  const now = new Date(service.clock());
  for (const payment of earlier) {
    if (ref !== null && ref !== payment.id) continue;
    const job = checkPaymentJob(payment, now);
    const run_at = ref === null ? job.run_at : now;
    await changePayment(service, payment, () => ({ jobs: [{ ...job, run_at }] }));
  }
}

/** Applies the response and stores the reply in one statement. */
async function applyCharge(
  service: Service,
  request: KeyedRequest,
  payment: GatewayPayment,
  { transaction, askedAtVersion }: MadeCharge,
): Promise<PaymentView> {
  const key = keyWithReply(request, viewPayment);
  const report = { answer: transaction, source: "charge", askedAtVersion, key } as const;
  try {
    return viewPayment((await applyReport(service, payment, report)).payment);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw await endUnfinished(service, request, payment, gatewayProblem(error, payment));
  }
}

/**
 * Returns the problem to throw. Every attempt starts a new grace period, even if it could not call
 * the gateway: as long as the caller retries, the payment has not failed. If a job will send the
 * charge again at a time that the gateway has named, the grace period starts at that time.
 */
async function endUnfinished(
  service: Service,
  request: KeyedRequest,
  payment: GatewayPayment,
  problem: ServiceError,
): Promise<ServiceError> {
  const now = service.clock();
  const resentAt = request.isRetriedByJob ? retryAt(problem, now) : null;
  const sent_at = resentAt ?? new Date(now);
  const set = ({ transaction_status }: GatewayPayment) =>
    transaction_status === "pending" ? { sent_at } : {};
  return await endWithUnknownOutcome(service, paymentKind, request, payment, problem, set);
}
