/**
 * The gate: whatever the gateway says about a payment, and whoever heard it, passes here. No other
 * code changes the state of a payment.
 */

import { codeOf, UNIQUE_VIOLATION } from "../../db/database.ts";
import type { NewJob } from "../../db/jobs.ts";
import type { GatewayNotification } from "../../db/notifications.ts";
import { adoptPayment } from "../../db/payment_statements.ts";
import type { GatewayPayment, GatewayRefund } from "../../db/payments.ts";
import type { NewHistory } from "../../db/records.ts";
import type { Transaction } from "../gateway/answers.ts";
import { GatewayAPIError, type GatewayError } from "../gateway/errors.ts";
import { parseMoney } from "../money.ts";
import { drawUp } from "../records/change.ts";
import { nextCheck, UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import { dispatchAfterCommit } from "../records/dispatch_after_commit.ts";
import { adoptedPayment } from "./adopted_payment.ts";
import { type Change, changePayment } from "./change.ts";
import type { PaymentDeps } from "./deps.ts";
import { amountOf, fieldsOf, type GatewayFields, refundsOf } from "./gateway_word.ts";
import { graceEnd } from "./grace.ts";
import { paymentKind } from "./kind.ts";
import {
  type MergedRefunds,
  mergeRefunds,
  onlyAccepted,
  type RefundHearing,
  sumOf,
  sumUp,
} from "./merge_refunds.ts";
import * as states from "./states.ts";

/** Who heard it; kept in the payment's story. */
export type Source =
  | "charge"
  | "cancel"
  | "expire"
  | "capture"
  | "refund"
  | "approve"
  | "deny"
  | "check_status"
  | "check_payment_status"
  | "expire_stale_payments"
  | "check_invoice_status"
  | "check_subscription_status"
  | "notification";

export interface Hearing extends RefundHearing {
  source: Source;
  /**
   * The version of the payment that was known when the gateway was asked for its state. Null: it was
   * not asked for that, and so cannot bring a payment back from the dead.
   */
  askedAt: number | null;
  key?: Change["key"];
  /** The notification that brought it about. */
  notification?: GatewayNotification;
  /** The gateway told it by itself: no more is believed of it than `isBelieved` allows. */
  isBelieved?: (current: GatewayPayment) => boolean;
  /** A look at the gateway that is still needed after this. */
  followUp?: NewJob;
}

export interface Heard {
  payment: GatewayPayment;
  step: states.Step;
  /** Whether the notification was written, with what has come of it. */
  isNoted: boolean;
  /** It was not believed, for the payment is another by now. */
  isDoubted: boolean;
}

/** Takes over what the gateway says about a payment, as far as it is news. */
export async function hear(
  deps: PaymentDeps,
  known: GatewayPayment,
  hearing: Hearing,
): Promise<Heard> {
  let step: states.Step = "duplicate";
  let isMeant = true;
  let isNoted = false;
  let isDoubted = false;
  const payment = await changingOwn(deps, known, (current) => {
    isDoubted = hearing.isBelieved?.(current) === false;
    if (isDoubted) return null;
    const now = new Date(deps.clock());
    const refunds = mergeRefunds(current, hearing, now);
    const said = readWord(current, hearing, refunds.all);
    const standing = standingOf(current);
    isMeant = isOfTransaction(current, hearing.answer) && fitsAmount(current, hearing.answer);
    step = isMeant ? states.stepTo(standing, said) : "stale";
    const word = step === "same" ? { ...said, ...states.sameState(standing, said) } : said;
    const taken = step === "stale" ? onlyAccepted(current, refunds, hearing) : refunds;
    const change = decide(current, hearing, { step, word, refunds: taken, now });
    isNoted = change !== null && hearing.notification !== undefined;
    return change;
  });
  if (!isMeant) {
    const error = new Error("The gateway names another transaction or amount than the payment's");
    deps.log.error("answer_does_not_fit", error, { payment_id: payment.id });
  }
  return { payment, step, isNoted, isDoubted };
}

/** What would come of it, were it the gateway's latest word. */
export function foresee(current: GatewayPayment, answer: Transaction): states.Step {
  const hearing: Hearing = { answer, source: "notification", askedAt: current.version };
  return states.stepTo(standingOf(current), readWord(current, hearing, current.refunds));
}

/** A notification with what came of it, by the step that it led to. */
export function endNotification(
  notification: GatewayNotification,
  { id }: GatewayPayment,
  step: states.Step,
): GatewayNotification {
  const isNothing = step === "duplicate" || step === "stale";
  const status = isNothing ? step : "processed";
  return { ...notification, payment_id: id, status, error_message: null };
}

/** Whose a payment is that was made outside of the service: of an invoice, or of a subscription. */
export interface Link {
  user_id: string;
  invoice_id: string | null;
  subscription_id: string | null;
}

/**
 * A transaction that was made outside of the service is heard of for the first time. One that is not
 * linked belongs to nobody, so that staff alone see it. Null: it has a payment already.
 */
export async function adopt(
  deps: PaymentDeps,
  hearing: Hearing,
  link: Link | null,
): Promise<GatewayPayment | null> {
  const now = new Date(deps.clock());
  const unknown = { ...adoptedPayment(hearing.answer, now), ...link };
  const refunds = mergeRefunds(unknown, hearing, now);
  const word = readWord(unknown, hearing, refunds.all);
  const change = decide(unknown, hearing, { step: "forward", word, refunds, now });
  const write = drawUp(deps, paymentKind, unknown, change!);
  const history = [madeBy(unknown, hearing.source), ...write.history];
  const written = await deps.database.query(
    (sql) => adoptPayment(sql, { ...write, history }),
    "adopt payment",
  );
  if (!written.isWritten) return null;
  dispatchAfterCommit(deps, write, written);
  return write.record;
}

/** It turned out whose a payment is that was made outside of the service. */
export async function linkPayment(
  deps: PaymentDeps,
  known: GatewayPayment,
  link: Link,
): Promise<GatewayPayment> {
  return await changePayment(
    deps,
    known,
    // One that was charged here is its caller's, for good.
    (current) => current.user_id === null ? { set: { ...link } } : null,
  );
}

function madeBy(payment: GatewayPayment, source: Source): NewHistory {
  return {
    resource: "payment",
    resource_id: payment.id,
    from_status: null,
    to_status: payment.transaction_status,
    fraud_status: null,
    source,
    created_at: payment.created_at,
  };
}

/** A change of a payment that may turn out to have been given another's transaction. */
async function changingOwn(...[deps, known, decide]: Parameters<typeof changePayment>) {
  try {
    return await changePayment(deps, known, decide);
  } catch (cause) {
    if (codeOf(cause) !== UNIQUE_VIOLATION) throw cause;
    const error = new GatewayAPIError(
      "The gateway gave another payment's transaction for this one's",
      {
        failure: "answered",
        outcome: "unknown",
      },
    );
    deps.log.error("transaction_taken", error, { payment_id: known.id });
    throw error;
  }
}

/** One payment is one transaction; once that is known, no other's state is this one's. */
function isOfTransaction({ transaction_id }: GatewayPayment, answer: Transaction): boolean {
  return transaction_id === null || answer.transaction_id === transaction_id;
}

/** The gateway refused the charge outright: there is no transaction, and never will be. */
export async function hearRefusal(
  deps: PaymentDeps,
  known: GatewayPayment,
  { statusCode, message }: GatewayError,
  key: Change["key"],
): Promise<GatewayPayment> {
  return await fail(deps, known, "charge", {
    set: { is_refused: true, status_code: statusCode, status_message: message },
    key,
  });
}

/** The gateway has had its time and knows nothing of the charge; unless it was sent again meanwhile. */
export async function giveUp(
  deps: PaymentDeps,
  known: GatewayPayment,
  source: Source,
): Promise<GatewayPayment> {
  const isOver = (current: GatewayPayment) => graceEnd(current).getTime() <= deps.clock();
  return await fail(deps, known, source, {}, isOver);
}

async function fail(
  deps: PaymentDeps,
  known: GatewayPayment,
  source: Source,
  { set, key }: Change,
  isOver = (_current: GatewayPayment) => true,
): Promise<GatewayPayment> {
  return await changePayment(deps, known, (current) => {
    const standing = standingOf(current);
    const word: states.Word = { status: "failure", fraud: null, refunded: null, isLatest: false };
    const isForward = states.stepTo(standing, word) === "forward";
    // An answer may have come after all, by another way.
    if (standing.isAnswered || !isForward || !isOver(current)) return key ? { key } : null;
    return {
      set: { ...set, check_at: null },
      transition: { to: word, events: states.eventsOf(standing, word, false), source },
      key,
    };
  });
}

interface Findings {
  step: states.Step;
  word: states.Word;
  refunds: MergedRefunds;
  now: Date;
}

function decide(current: GatewayPayment, hearing: Hearing, findings: Findings): Change | null {
  const { step, word, refunds, now } = findings;
  const isTaken = step === "forward" || step === "revived" || step === "same";
  const state = isTaken ? word : standingOf(current);
  const set: Change["set"] = {
    ...refunds.changed.length > 0 && {
      reserved_amount: sumOf(refunds.all, "pending"),
      refunded_amount: isTaken || step === "duplicate"
        ? word.refunded ?? current.refunded_amount
        : Math.max(current.refunded_amount, sumOf(refunds.all, "succeeded")),
    },
    ...isTaken && takenOver(current, hearing, word, now),
    ...step === "duplicate" && onlyMissing(current, fieldsFrom(hearing)),
  };
  const checkAt = hearing.followUp?.run_at ??
    checkTime({ ...current, ...set }, state, refunds.all, now);
  const isDue = current.check_at !== null && current.check_at <= now;
  if (isTaken || isDue || (checkAt === null) !== (current.check_at === null)) {
    set.check_at = checkAt;
  }
  const isNothing = Object.keys(set).length === 0 && refunds.changed.length === 0;
  if (isNothing && !hearing.key && !hearing.followUp) return null;
  return {
    set,
    jobs: hearing.followUp ? [hearing.followUp] : [],
    refunds: refunds.changed,
    key: hearing.key,
    notification: hearing.notification && endNotification(hearing.notification, current, step),
    ...isTaken && {
      transition: {
        to: { status: word.status, fraud: word.fraud },
        events: states.eventsOf(standingOf(current), word, current.paid_at !== null),
        source: hearing.source,
      },
    },
  };
}

function takenOver(
  current: GatewayPayment,
  hearing: Hearing,
  word: states.Word,
  now: Date,
): Change["set"] {
  const { answer } = hearing;
  const isPaid = states.impliesPaid(word);
  const fields = fieldsFrom(hearing);
  return {
    ...hearing.isBelieved ? onlyMissing(current, fields) : withoutNulls(fields),
    transaction_id: current.transaction_id ?? answer.transaction_id,
    status_code: answer.status_code ?? current.status_code,
    status_message: answer.status_message ?? current.status_message,
    refunded_amount: word.refunded ?? current.refunded_amount,
    captured_amount: isPaid ? current.captured_amount ?? capturedAmount(current, answer) : null,
    paid_at: current.paid_at ?? (isPaid ? now : null),
  };
}

/** All of it, or of a card's hold a part. */
function capturedAmount(payment: GatewayPayment, answer: Transaction): number {
  const said = amountOf(answer) ?? payment.gross_amount;
  return Math.min(said, payment.gross_amount);
}

/**
 * A transaction that is known to be ours may be of more (a fee on top) or, where a hold was captured
 * in part, of less.
 */
function fitsAmount(payment: GatewayPayment, answer: Transaction): boolean {
  const said = amountOf(answer);
  if (answer.currency !== null && answer.currency !== payment.currency) return false;
  if (said === null || said >= payment.gross_amount) return true;
  return payment.is_hold && said > 0;
}

function checkTime(
  payment: GatewayPayment,
  state: states.State,
  refunds: GatewayRefund[],
  now: Date,
): Date | null {
  if (refunds.some(({ status }) => status === "pending")) {
    return new Date(now.getTime() + UNANSWERED_CHECK_MS);
  }
  return states.canCancel(state.status)
    ? nextCheck(payment.created_at, now, payment.expiry_time)
    : null;
}

function standingOf(payment: GatewayPayment): states.Standing {
  return {
    status: payment.transaction_status,
    fraud: payment.fraud_status,
    refunded: payment.refunded_amount,
    isAnswered: payment.transaction_id !== null,
    isRefused: payment.is_refused,
  };
}

function readWord(
  current: GatewayPayment,
  { answer, askedAt }: Hearing,
  refunds: GatewayRefund[],
): states.Word {
  const made = Math.max(sumUp(refundsOf(answer)), sumOf(refunds, "succeeded"));
  // A status names the sum of all refunds, even where it should not list them.
  const total = askedAt === null ? null : parseMoney(answer.refund_amount);
  return {
    status: answer.transaction_status as states.PaymentStatus,
    fraud: answer.fraud_status ?? current.fraud_status,
    refunded: Math.max(made, total ?? 0, current.refunded_amount),
    isLatest: askedAt === current.version,
  };
}

/** How a customer pays is no matter of notifications, and nothing in them vouches for it. */
function fieldsFrom({ answer, isBelieved }: Hearing): Partial<GatewayFields> {
  const fields = fieldsOf(answer);
  return isBelieved ? { settlement_time: fields.settlement_time } : fields;
}

function withoutNulls(fields: Partial<GatewayFields>): Partial<GatewayFields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function onlyMissing(
  current: GatewayPayment,
  fields: Partial<GatewayFields>,
): Partial<GatewayFields> {
  return Object.fromEntries(
    Object.entries(withoutNulls(fields)).filter(([name]) =>
      current[name as keyof GatewayFields] === null
    ),
  );
}
