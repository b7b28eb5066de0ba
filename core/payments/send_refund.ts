/** Sends a refund that is reserved, be it for the first time or again: its key makes it one. */

import type { GatewayPayment, GatewayRefund } from "../../db/payments.ts";
import type { ServiceError } from "../errors.ts";
import type { Answer, Transaction } from "../gateway/answers.ts";
import { isDenial, isStillRunning } from "../gateway/denial.ts";
import { GatewayDuplicateOrderError, GatewayError, wasNotHeard } from "../gateway/errors.ts";
import { endUnknown } from "../records/end_unknown.ts";
import { answeredWith, type Asker, failedWith } from "../records/keyed_change.ts";
import { changePayment } from "./change.ts";
import { checkJob } from "./check_job.ts";
import type { PaymentDeps } from "./deps.ts";
import { hear, type Source } from "./gate.ts";
import { refundsOf } from "./gateway_word.ts";
import { paymentKind } from "./kind.ts";
import { sumOf } from "./merge_refunds.ts";
import { gatewayProblem, invalidState, problemAbout, unexplained } from "./problems.ts";
import { isAbout } from "./recognize.ts";
import { type PaymentView, type RefundView, viewPayment, viewRefund } from "./views.ts";

export interface RefundedPayment {
  payment: PaymentView;
  refund: RefundView;
}

export interface Sending extends Asker {
  refundId: string;
  source: Source;
  /** An earlier time may have gone through, whatever becomes of this one. */
  isSentBefore: boolean;
}

export async function sendRefund(
  deps: PaymentDeps,
  sending: Sending,
  payment: GatewayPayment,
): Promise<RefundedPayment> {
  const refund = refundIn(payment, sending);
  let answer: Answer<Transaction>;
  try {
    answer = await call(deps, payment, refund);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return await settle(deps, sending, payment, error);
  }
  if (isDenial(answer)) throw await endDenied(deps, sending, payment, answer);
  if (isStillRunning(answer) || !isAnswerTo(payment, refund, answer.body)) {
    throw await leaveOpen(deps, sending, payment, unexplained(payment, answer.statusCode));
  }
  return await confirm(deps, sending, payment, answer.body);
}

function call(
  { gateway }: PaymentDeps,
  { transaction_id }: GatewayPayment,
  { id, refund_key, amount, reason, is_direct }: GatewayRefund,
): Promise<Answer<Transaction>> {
  const operation = is_direct ? gateway.directRefund : gateway.refund;
  return operation(transaction_id!, refund_key, amount, reason ?? "", { idempotencyKey: id });
}

/** The gateway's own idempotency answers a key whatever the question was (G§1.4). */
function isAnswerTo(payment: GatewayPayment, refund: GatewayRefund, answer: Transaction): boolean {
  return isAbout(payment, answer) && (answer.refund_key ?? refund.refund_key) === refund.refund_key;
}

/** It is made. What the payment has come to by it, the gateway's status says. */
async function confirm(
  deps: PaymentDeps,
  sending: Sending,
  payment: GatewayPayment,
  accepted: Transaction,
): Promise<RefundedPayment> {
  const status = await look(deps, payment);
  const { refund_key } = refundIn(payment, sending);
  const isListed = status && refundsOf(status).some((made) => made.refund_key === refund_key);
  const now = new Date(deps.clock());
  const { payment: refunded } = await hear(deps, payment, {
    answer: isListed ? status : accepted,
    source: sending.source,
    askedAt: isListed ? payment.version : null,
    acceptedRefund: {
      id: sending.refundId,
      status_code: accepted.status_code,
      status_message: accepted.status_message,
    },
    key: answeredWith(sending, (after) => view(after, sending), now),
    followUp: isListed ? undefined : checkJob(payment, now),
  });
  return view(refunded, sending);
}

/** Null: it could not be had. */
async function look(
  { gateway }: PaymentDeps,
  payment: GatewayPayment,
): Promise<Transaction | null> {
  try {
    const { body } = await gateway.getStatus(payment.transaction_id!);
    return isAbout(payment, body) ? body : null;
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

async function settle(
  deps: PaymentDeps,
  sending: Sending,
  payment: GatewayPayment,
  error: GatewayError,
): Promise<RefundedPayment> {
  const isPutOff = sending.isTriedAgain && wasNotHeard(error);
  if (error.outcome === "unknown" || isPutOff) {
    throw await leaveOpen(deps, sending, payment, gatewayProblem(error, payment, "unknown"));
  }
  // Our own key is taken: by this very refund.
  const isMade = error instanceof GatewayDuplicateOrderError;
  const depends = isMade || sending.isSentBefore || error.statusCode === "412";
  const status = depends ? await look(deps, payment) : null;
  if (isMade && status) return await confirm(deps, sending, payment, status);
  const saysNothing = sending.isSentBefore && (!status || !isAboutRefund(error));
  if (isMade || saysNothing) {
    throw await leaveOpen(deps, sending, payment, gatewayProblem(error, payment, "unknown"));
  }
  // It may turn out to have been made by the time before.
  const heard = status
    ? await hear(deps, payment, {
      answer: status,
      source: sending.source,
      askedAt: payment.version,
    })
    : null;
  const current = heard?.payment ?? payment;
  if (refundIn(current, sending).status === "succeeded") {
    return await confirm(deps, sending, current, status!);
  }
  const problem = error.statusCode === "412"
    ? invalidState(current, `The gateway does not allow it: ${error.message}`)
    : gatewayProblem(error, current);
  throw await end(deps, sending, current, {
    to: { status: "failed", status_code: error.statusCode, status_message: error.message },
    problem: () => problem,
  });
}

/** These judge who calls, how often and where: whatever became of the refund before, they do not say. */
const ABOUT_THE_CALL = ["401", "403", "404", "409", "429"];

function isAboutRefund({ statusCode }: GatewayError): boolean {
  return statusCode !== null && !ABOUT_THE_CALL.includes(statusCode);
}

/** The bank said no: the payment is as it was, and the amount is free again. */
async function endDenied(
  deps: PaymentDeps,
  sending: Sending,
  payment: GatewayPayment,
  { body: { status_code, status_message } }: Answer<Transaction>,
): Promise<ServiceError> {
  return await end(deps, sending, payment, {
    to: { status: "denied", status_code, status_message },
    problem: (refund) => refundDenied(payment, refund),
  });
}

export function refundDenied(payment: GatewayPayment, refund: GatewayRefund): ServiceError {
  return problemAbout("refund_denied", payment, "refused", {
    detail: refund.status_message ?? undefined,
    members: { refund: viewRefund(refund) },
  });
}

/** A task that finds no end is tried again by itself; a caller's request leaves a task behind. */
async function leaveOpen(
  deps: PaymentDeps,
  sending: Sending,
  payment: GatewayPayment,
  problem: ServiceError,
): Promise<ServiceError> {
  return sending.source === "refund"
    ? await endUnknown(deps, paymentKind, sending, payment, problem)
    : problem;
}

interface End {
  to: Pick<GatewayRefund, "status" | "status_code" | "status_message">;
  problem: (refund: GatewayRefund) => ServiceError;
}

/** Frees what was reserved, unless the refund has ended otherwise by another way. */
async function end(
  deps: PaymentDeps,
  sending: Sending,
  known: GatewayPayment,
  { to, problem }: End,
): Promise<ServiceError> {
  const now = new Date(deps.clock());
  const payment = await changePayment(deps, known, (current) => {
    const refund = refundIn(current, sending);
    if (refund.status !== "pending") return null;
    const ended = { ...refund, ...to, updated_at: now };
    const rest = current.refunds.filter(({ id }) => id !== refund.id);
    return {
      set: { reserved_amount: sumOf(rest, "pending") },
      refunds: [ended],
      key: failedWith(sending, problem(ended), now),
    };
  });
  return problem(refundIn(payment, sending));
}

function refundIn({ refunds }: GatewayPayment, { refundId }: Sending): GatewayRefund {
  const refund = refunds.find(({ id }) => id === refundId);
  if (!refund) throw new Error(`There is no refund ${refundId}`);
  return refund;
}

function view(payment: GatewayPayment, sending: Sending): RefundedPayment {
  return { payment: viewPayment(payment), refund: viewRefund(refundIn(payment, sending)) };
}
