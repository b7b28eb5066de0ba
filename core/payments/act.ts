/** What cancel, expire, capture, approve and deny have in common: one call that moves a payment on. */

import type { GatewayPayment } from "../../db/payments.ts";
import type { Caller } from "../auth/caller.ts";
import type { Answer, Transaction } from "../gateway/answers.ts";
import { GatewayError } from "../gateway/errors.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import * as keys from "../idempotency/keys.ts";
import { changePayment } from "./change.ts";
import { UNANSWERED_CHECK_MS } from "./check_times.ts";
import type { PaymentDeps } from "./deps.ts";
import { endUnknown } from "./end_unknown.ts";
import { refreshed, transactionOf } from "./find_transaction.ts";
import { hear, type Source } from "./gate.ts";
import { keepingErrors } from "./keeping_errors.ts";
import { answeredWith, type Asker } from "./keyed_change.ts";
import { gatewayIsDown, gatewayProblem, invalidState, unexplained } from "./problems.ts";
import { findOwn } from "./read.ts";
import { isAbout } from "./recognize.ts";
import { type PaymentView, viewPayment } from "./views.ts";

export interface Action {
  source: Source;
  /** Throws where the payment's state does not allow it. */
  check(payment: GatewayPayment): void;
  /** The payment's transaction is known. */
  call(payment: GatewayPayment): Promise<Answer<Transaction>>;
  /** Whether the gateway did what it was asked; throws where it says no. */
  isDone(payment: GatewayPayment, answer: Answer<Transaction>): boolean | Promise<boolean>;
  /** Whether a payment already is what the action would make of it. */
  isIn(payment: GatewayPayment): boolean;
}

export async function act(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
  attempt: KeyedAttempt | null,
  drawUp: (payment: GatewayPayment) => Action,
): Promise<Outcome<PaymentView>> {
  const known = await findOwn(deps, caller, id);
  const action = drawUp(known);
  const begun = attempt && await keys.beginKeyed(deps, caller, attempt, id);
  if (begun && "body" in begun) return { body: begun.body as PaymentView, isReplayed: true };
  const asker = { key: begun?.key ?? null };
  const body = await keepingErrors(deps, asker, known, async () => {
    // Whoever goes on with a request does not know how far it got.
    const isResumed = Boolean(begun?.earlier);
    const payment = isResumed ? await refreshed(deps, known, action.source, "unknown") : known;
    if (isResumed && action.isIn(payment)) return await answer(deps, asker, payment);
    return await perform(deps, asker, payment, { action, isResumed });
  });
  return { body, isReplayed: false };
}

interface Performance {
  action: Action;
  /** The call may have been made before, and done what it was to do. */
  isResumed: boolean;
}

async function perform(
  deps: PaymentDeps,
  asker: Asker,
  known: GatewayPayment,
  performance: Performance,
): Promise<PaymentView> {
  const { action } = performance;
  action.check(known);
  if (deps.gateway.breakerState() === "open") throw gatewayIsDown();
  const payment = await transactionOf(deps, known, action.source);
  action.check(payment);
  const marked = await mark(deps, payment);
  let answer: Answer<Transaction>;
  try {
    answer = await action.call(marked);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return await settle(deps, asker, marked, { ...performance, error });
  }
  if (!isAbout(marked, answer.body) || !await action.isDone(marked, answer)) {
    throw await endUnknown(deps, asker, marked, unexplained(marked, answer.statusCode));
  }
  const heard = await hear(deps, marked, {
    answer: answer.body,
    source: action.source,
    askedAt: null,
    key: answeredWith(asker, viewPayment, new Date(deps.clock())),
  });
  return viewPayment(heard.payment);
}

/** Written before the call: should this process die in it, somebody will look. */
async function mark(deps: PaymentDeps, payment: GatewayPayment): Promise<GatewayPayment> {
  const checkAt = new Date(deps.clock() + UNANSWERED_CHECK_MS);
  return await changePayment(deps, payment, ({ check_at }) => ({
    set: { check_at: check_at && check_at < checkAt ? check_at : checkAt },
  }));
}

async function settle(
  deps: PaymentDeps,
  asker: Asker,
  payment: GatewayPayment,
  { action, isResumed, error }: Performance & { error: GatewayError },
): Promise<PaymentView> {
  const isCertain = error.outcome === "refused" && (!isResumed || error.statusCode === "412");
  if (!isCertain) {
    throw await endUnknown(deps, asker, payment, gatewayProblem(error, payment, "unknown"));
  }
  if (error.statusCode !== "412") throw gatewayProblem(error, payment);
  // It stands otherwise than we believed.
  const now = await refreshed(deps, payment, action.source, isResumed ? "unknown" : "refused");
  if (isResumed && action.isIn(now)) return await answer(deps, asker, now);
  throw invalidState(now, `The gateway does not allow it: ${error.message}`);
}

async function answer(
  deps: PaymentDeps,
  { key }: Asker,
  payment: GatewayPayment,
): Promise<PaymentView> {
  const body = viewPayment(payment);
  if (key) await keys.endKeyed(deps, key, { body });
  return body;
}
