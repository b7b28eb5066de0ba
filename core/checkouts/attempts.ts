/**
 * The customer's choice of a method. At most one attempt may be payable at any moment: before
 * another is charged, the gateway has to confirm that the one before it is closed.
 */

import {
  type CheckoutAttempt,
  findCheckout,
  type GatewayCheckout,
  revokeOrderId,
} from "../../db/billing/checkouts.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import { ServiceError } from "../errors.ts";
import { CALL_REJECTIONS } from "../gateway/errors.ts";
import { newId } from "../ids.ts";
import { cancelPayment, expirePayment } from "../payments/actions.ts";
import { createCharge } from "../payments/charge.ts";
import { type ChargeInput, ChargeSchema } from "../payments/charge_input.ts";
import type { Service } from "../service.ts";
import { checkCardPage, closeCardPage, hasPageEnded, openCardPage } from "./card_page.ts";
import {
  changeCheckout,
  customerOf,
  problems,
  readCheckoutPayments,
  settleLaterJob,
} from "./checkout_record.ts";
import { orderIdOf } from "./create.ts";
import {
  expirySeconds,
  isMethod,
  type MethodId,
  METHODS,
  offeredMethods,
  refusesPhone,
} from "./methods.ts";
import { MAX_ATTEMPTS } from "./schema.ts";
import { settle } from "./settle.ts";
import { isCardAttempt, isInProcess, isPayable, openAttempt, paymentsOf } from "./states.ts";

export type Choice =
  /** The customer can pay, or the state of the checkout says why not. */
  | { type: "done"; checkout: GatewayCheckout }
  /** The gateway has not confirmed yet that the earlier attempt is closed, or the new one made. */
  | { type: "waiting"; checkout: GatewayCheckout }
  /** The gateway refused the method, or the customer's phone number. */
  | { type: "refused"; checkout: GatewayCheckout; method: MethodId; problem: ServiceError };

/**
 * Closes the open attempt, if it is of another method, and starts one with this method. Can be
 * repeated: it continues where an interrupted call stopped.
 */
export async function chooseMethod(
  service: Service,
  known: GatewayCheckout,
  method: MethodId,
  phone: string | null,
): Promise<Choice> {
  const current = await settle(service, known, "choose");
  const open = openAttempt(current);
  // It has ended, or the bank decides about the payment that the customer has made.
  if (current.status !== "open") return { type: "done", checkout: current };
  // Nothing is stored for a charge that would be rejected; the page shows the methods again.
  if (!canCharge(current, method, phone)) return { type: "done", checkout: current };
  if (open && (open.method !== method || open.is_closing || hasPageEnded(open, service.clock()))) {
    const closed = await closeOpenAttempt(service, current);
    if (openAttempt(closed)) return { type: "waiting", checkout: closed };
    return await startAttempt(service, closed, method, phone);
  }
  return await startAttempt(service, current, method, phone);
}

/** Writes the attempt before it is charged, so that a crash in between leaves a trace of it. */
async function startAttempt(
  service: Service,
  known: GatewayCheckout,
  method: MethodId,
  phone: string | null,
): Promise<Choice> {
  const checkout = await changeCheckout(service, known, (current) => {
    const now = new Date(service.clock());
    const number = current.attempts.length + 1;
    const canStart = current.status === "open" && openAttempt(current) === null &&
      number <= MAX_ATTEMPTS && offeredMethods(current, now.getTime()).includes(method);
    if (!canStart) return null;
    const attempt: CheckoutAttempt = {
      id: newId(now),
      checkout_id: current.id,
      number,
      method,
      order_id: orderIdOf(current, number),
      is_closing: false,
      closed_at: null,
      result: null,
      created_at: now,
      page: null,
      page_requested_at: null,
      page_ends_at: null,
      page_checked_at: null,
      is_page_closed: false,
    };
    return { attempts: [attempt], jobs: [settleLaterJob(current, now)] };
  });
  const attempt = openAttempt(checkout);
  // Another device has chosen a method at the same moment, or the checkout has ended.
  if (!attempt || attempt.method !== method) return { type: "done", checkout };
  return isCardAttempt(attempt)
    ? await startCardAttempt(service, checkout, attempt)
    : await chargeAttempt(service, checkout, attempt, phone);
}

async function startCardAttempt(
  service: Service,
  known: GatewayCheckout,
  attempt: CheckoutAttempt,
): Promise<Choice> {
  const { checkout, refusal } = await openCardPage(service, known, attempt);
  if (refusal) {
    const problem = problems.gatewayProblem(refusal, checkout, refusal.outcome);
    const refused = await rememberRefusal(service, checkout, "credit_card", problem);
    return { type: "refused", checkout: refused, method: "credit_card", problem };
  }
  return { type: openAttempt(checkout)?.page === null ? "waiting" : "done", checkout };
}

/** Charges with the attempt's id as idempotency key: a repeated call continues the first one. */
async function chargeAttempt(
  service: Service,
  checkout: GatewayCheckout,
  attempt: CheckoutAttempt,
  phone: string | null,
): Promise<Choice> {
  const method = attempt.method as MethodId;
  const bodyHash = new TextEncoder().encode(attempt.id);
  const requestKey = { key: attempt.id, scope: "checkout attempt", bodyHash };
  try {
    const input = chargeOf(checkout, attempt, phone, service.clock());
    await createCharge(service, customerOf(checkout), input, requestKey);
    return { type: "done", checkout: await closeIfUnwanted(service, checkout) };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const settled = await settle(service, checkout, "choose");
    if (openAttempt(settled)) return { type: "waiting", checkout: settled };
    const refused = await rememberRefusal(service, settled, method, error);
    return { type: "refused", checkout: refused, method, problem: error };
  }
}

/** Another device may have asked for another method during the charge, and could not close it. */
async function closeIfUnwanted(
  service: Service,
  known: GatewayCheckout,
): Promise<GatewayCheckout> {
  const latest = await service.database.query(
    (sql) => findCheckout(sql, known.id),
    "find checkout",
  );
  const settled = await settle(service, latest!, "choose");
  return openAttempt(settled)?.is_closing ? await closeOpenAttempt(service, settled) : settled;
}

/**
 * A method that the gateway refuses is not offered again. A wrong phone number can be corrected,
 * and so can what rejects every call, such as a wrong server key. A refusal without a code of the
 * gateway is not about the method.
 */
async function rememberRefusal(
  service: Service,
  checkout: GatewayCheckout,
  method: MethodId,
  problem: ServiceError,
): Promise<GatewayCheckout> {
  const { outcome, gateway_status_code: code } = problem.members;
  if (outcome !== "refused" || typeof code !== "string") return checkout;
  if (CALL_REJECTIONS.includes(code) || refusesPhone(method, code)) return checkout;
  return await changeCheckout(
    service,
    checkout,
    ({ refused_payments }) =>
      refused_payments.includes(method)
        ? null
        : { set: { refused_payments: [...refused_payments, method] } },
  );
}

/** Whether a charge with this method would be valid; not if the phone number cannot be right. */
function canCharge(checkout: GatewayCheckout, method: MethodId, phone: string | null): boolean {
  if (method === "credit_card") return true;
  const attempt = { method, order_id: checkout.order_id };
  const charge = chargeRequest(checkout, attempt, phone, checkout.created_at.getTime());
  return ChargeSchema.safeParse(charge).success;
}

function chargeOf(
  checkout: GatewayCheckout,
  attempt: CheckoutAttempt,
  phone: string | null,
  now: number,
): ChargeInput & { checkout_id: string } {
  const parsed = ChargeSchema.parse(chargeRequest(checkout, attempt, phone, now));
  return { ...parsed, checkout_id: checkout.id };
}

function chargeRequest(
  checkout: GatewayCheckout,
  { method: id, order_id }: Pick<CheckoutAttempt, "method" | "order_id">,
  phone: string | null,
  now: number,
) {
  const method = id as MethodId;
  const seconds = expirySeconds(method, checkout, now);
  const customer = { ...checkout.customer_details, ...phone !== null && { phone } };
  return {
    ...METHODS[method].charge,
    gross_amount: checkout.gross_amount,
    order_id,
    customer_details: Object.keys(customer).length > 0 ? customer : undefined,
    item_details: checkout.item_details ?? undefined,
    metadata: checkout.metadata ?? undefined,
    custom_fields: checkout.custom_fields ?? undefined,
    custom_expiry: seconds === null ? undefined : { expiry_duration: seconds, unit: "second" },
  };
}

/**
 * The gateway's page for cards has sent the customer away after a denied card. It may not accept
 * another card, so the customer chooses again.
 */
export async function leaveFailedPage(
  service: Service,
  known: GatewayCheckout,
): Promise<GatewayCheckout> {
  const checked = await settle(service, await checkCardPage(service, known), "return");
  const attempt = openAttempt(checked);
  if (!attempt || !isCardAttempt(attempt)) return checked;
  const payments = paymentsOf(attempt, await readCheckoutPayments(service, checked));
  const isDenied = payments.length > 0 && !payments.some(isPayable);
  return isDenied ? await closeOpenAttempt(service, checked) : checked;
}

/**
 * Closes the attempt that may be payable. It stays open in the result if the gateway does not
 * confirm that; a job goes on then.
 */
export async function closeOpenAttempt(
  service: Service,
  known: GatewayCheckout,
): Promise<GatewayCheckout> {
  const marked = await changeCheckout(service, known, (current) => {
    const attempt = openAttempt(current);
    if (!attempt || attempt.is_closing || current.status === "processing") return null;
    const jobs = [settleLaterJob(current, new Date(service.clock()))];
    return { attempts: [{ ...attempt, is_closing: true }], jobs };
  });
  const attempt = openAttempt(marked);
  if (!attempt) return marked;
  return await settle(service, await closeAtGateway(service, marked, attempt), "close");
}

/**
 * Returns the checkout. It is unchanged if the gateway cannot be asked now, or if the attempt has
 * to end by itself.
 */
async function closeAtGateway(
  service: Service,
  checkout: GatewayCheckout,
  attempt: CheckoutAttempt,
): Promise<GatewayCheckout> {
  if (isCardAttempt(attempt)) return await closeCardPage(service, checkout, attempt);
  const payments = paymentsOf(attempt, await readCheckoutPayments(service, checkout));
  if (payments.length === 0) return await closeWithoutPayment(service, checkout, attempt);
  for (const payment of payments.filter(isPayable)) {
    await closePayment(service, checkout, attempt, payment);
  }
  return checkout;
}

/** An attempt without a payment was not sent, and now it cannot be sent any more. */
async function closeWithoutPayment(
  service: Service,
  checkout: GatewayCheckout,
  attempt: CheckoutAttempt,
): Promise<GatewayCheckout> {
  const isRevoked = await service.database.query(
    (sql) => revokeOrderId(sql, attempt),
    "revoke order id",
  );
  return isRevoked ? await endAttempt(service, checkout, attempt) : checkout;
}

/** Ends an attempt that has no payment, and cannot get one. */
async function endAttempt(
  service: Service,
  checkout: GatewayCheckout,
  { id }: CheckoutAttempt,
): Promise<GatewayCheckout> {
  return await changeCheckout(service, checkout, (current) => {
    const open = openAttempt(current);
    if (open?.id !== id) return null;
    return { attempts: [{ ...open, closed_at: new Date(service.clock()) }] };
  });
}

async function closePayment(
  service: Service,
  checkout: GatewayCheckout,
  { method }: CheckoutAttempt,
  payment: GatewayPayment,
): Promise<void> {
  const closing = isMethod(method) ? METHODS[method].closing : "wait";
  // The bank or the fraud review decides about it; nothing can be changed meanwhile.
  if (closing === "wait" || isInProcess(payment)) return;
  const close = closing === "cancel" ? cancelPayment : expirePayment;
  const request = { caller: customerOf(checkout), id: payment.id, requestKey: null };
  try {
    await close(service, request);
  } catch (error) {
    // Paid meanwhile, or the gateway gave no usable answer: the payment's state says which.
    if (!(error instanceof ServiceError)) throw error;
  }
}
