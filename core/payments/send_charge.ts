/** Sends a charge whose payment is written, and brings it to one of its ends. */

import { validate as isUuid } from "uuid";
import { findPayment } from "../../db/payment_statements.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import type { ServiceError } from "../errors.ts";
import type { Answer, Transaction } from "../gateway/answers.ts";
import { isStillRunning } from "../gateway/denial.ts";
import { GatewayDuplicateOrderError, GatewayError, wasNotHeard } from "../gateway/errors.ts";
import { endUnknown } from "../records/end_unknown.ts";
import { answeredWith, type Asker, failedWith } from "../records/keyed_change.ts";
import { retryAt } from "../retry_at.ts";
import { changePayment } from "./change.ts";
import type { ChargeInput } from "./charge_input.ts";
import { chargePayload } from "./charge_payload.ts";
import { checkJob } from "./check_job.ts";
import type { PaymentDeps } from "./deps.ts";
import { findByOrder, type Found } from "./find_by_order.ts";
import { hear, hearRefusal } from "./gate.ts";
import { paymentKind } from "./kind.ts";
import { gatewayProblem, problems, unexplained } from "./problems.ts";
import { answersCharge } from "./recognize.ts";
import { type PaymentView, viewPayment } from "./views.ts";

interface Request extends Asker {
  input: ChargeInput;
}

export interface SentCharge {
  body: PaymentView;
  /** How long the gateway took. */
  gatewayMs: number;
}

/** `isSentBefore`: an earlier time may have gone through, whatever becomes of this one. */
export async function sendCharge(
  deps: PaymentDeps,
  request: Request,
  payment: GatewayPayment,
  isSentBefore: boolean,
): Promise<SentCharge> {
  const began = performance.now();
  let answer: Answer<Transaction>;
  try {
    const payload = chargePayload(request.input, payment);
    answer = await deps.gateway.charge(payload, { idempotencyKey: payment.id });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const found = await settle(deps, request, payment, { error, isSentBefore });
    const gatewayMs = performance.now() - began;
    const body = await takeChargeOver(deps, request, payment, found, payment.version);
    return { body, gatewayMs };
  }
  const gatewayMs = performance.now() - began;
  if (isStillRunning(answer) || !answersCharge(payment, answer.body)) {
    throw await leaveOpen(deps, request, payment, unexplained(payment, answer.statusCode));
  }
  return { body: await takeChargeOver(deps, request, payment, answer.body, null), gatewayMs };
}

/** Through the gate, together with the answer to be given again. */
export async function takeChargeOver(
  deps: PaymentDeps,
  asker: Asker,
  payment: GatewayPayment,
  answer: Transaction,
  askedAt: number | null,
): Promise<PaymentView> {
  const key = answeredWith(asker, viewPayment, new Date(deps.clock()));
  try {
    const heard = await hear(deps, payment, { answer, source: "charge", askedAt, key });
    return viewPayment(heard.payment);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw await leaveOpen(deps, asker, payment, gatewayProblem(error, payment));
  }
}

/** The transaction that an earlier time may have made. */
export async function lookForCharge(
  deps: PaymentDeps,
  asker: Asker,
  payment: GatewayPayment,
): Promise<Found> {
  try {
    return await findByOrder(deps, payment);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    // That a look failed says nothing about the charge.
    throw await leaveOpen(deps, asker, payment, gatewayProblem(error, payment, "unknown"));
  }
}

/** Who has the order may be an earlier payment of ours, given up before its charge was made. */
async function lookAtOther(deps: PaymentDeps, { metadata }: Transaction): Promise<void> {
  const ref = metadata?.payment_ref;
  if (typeof ref !== "string" || !isUuid(ref)) return;
  const other = await deps.database.query((sql) => findPayment(sql, ref), "find payment");
  if (!other || other.transaction_id !== null) return;
  const job = { ...checkJob(other, new Date(deps.clock())), run_at: new Date(deps.clock()) };
  await changePayment(deps, other, () => ({ jobs: [job] }));
}

interface Failed {
  error: GatewayError;
  isSentBefore: boolean;
}

/** How a charge ends that was not answered well; the transaction, where there is one after all. */
async function settle(
  deps: PaymentDeps,
  asker: Asker,
  payment: GatewayPayment,
  { error, isSentBefore }: Failed,
): Promise<Transaction> {
  const isTaken = error instanceof GatewayDuplicateOrderError;
  const isPutOff = asker.isTriedAgain && wasNotHeard(error);
  const isRefused = error.outcome === "refused" && !isPutOff;
  const found = isRefused && (isTaken || isSentBefore)
    ? await lookForCharge(deps, asker, payment)
    : null;
  if (found?.whose === "ours") return found.answer.body;
  if (found?.whose === "anothers") await lookAtOther(deps, found.answer.body);
  // An order that is another's was not ours the time before either; one that is nobody's yet may be.
  const isCertain = isRefused && (!isSentBefore || (isTaken && found?.whose === "anothers"));
  if (!isCertain) {
    throw await leaveOpen(deps, asker, payment, gatewayProblem(error, payment, "unknown"));
  }
  const problem = isTaken ? problems.orderTaken(payment, error) : gatewayProblem(error, payment);
  await hearRefusal(deps, payment, error, failedWith(asker, problem, new Date(deps.clock())));
  throw problem;
}

/** One that was told to wait is sent again then: until the gateway had its time after that, it waits. */
async function leaveOpen(
  deps: PaymentDeps,
  asker: Asker,
  payment: GatewayPayment,
  problem: ServiceError,
): Promise<ServiceError> {
  const sentAgainAt = asker.isTriedAgain ? retryAt(problem, deps.clock()) : null;
  const set = sentAgainAt ? { sent_at: sentAgainAt } : {};
  return await endUnknown(deps, paymentKind, asker, payment, problem, set);
}
