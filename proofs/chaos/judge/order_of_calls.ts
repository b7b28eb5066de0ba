/**
 * Whether the answers about one payment can be explained: there must be an order of all changes and
 * observations in which each of them is possible, and a call that ended before another began comes
 * first. (Such a history is called linearizable.) A change of which the merchant does not know
 * whether it happened may come at any time after its start, or not at all.
 */

import { type Act, type Call, finalAnswer, type Order, type Transaction } from "../history.ts";
import * as model from "./model.ts";

/** A change or an observation that takes place at one moment between its start and its end. */
interface Step {
  startedAt: number;
  /** Infinity: it may take place at any time after its start. */
  endedAt: number;
  /** Whether it has taken place at the end of the run. */
  isRequired: boolean;
  change: model.Change;
  /** The steps that must come before this one: an answer shows the effect of its own call. */
  prerequisites?: Step[];
}

/** What happened to one order. */
export interface OrderHistory {
  order: Order;
  calls: Call[];
  acts: Act[];
  /** In the gateway's books at the end. */
  refunds: Transaction["refunds"];
}

/** The service marks a charge as failed if the gateway does not list it this long after it. */
const GRACE_MS = 15 * 60_000;

/** The clocks of the service, of the gateway and of the merchant can differ by this much. */
const CLOCK_TOLERANCE_MS = 5_000;

export function canBeExplained(history: OrderHistory): boolean {
  const { order, calls, acts } = history;
  return hasPossibleOrder([
    ...calls.flatMap((call) => stepsOf(history, call)),
    ...acts.map((act) => stepOfAct(order, act)),
  ]);
}

/** Tries all orders, but each combination of remaining steps and state only once. */
function hasPossibleOrder(steps: Step[]): boolean {
  const tried = new Set<string>();
  const open = [{ left: steps, state: model.NOT_CHARGED }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { left, state } = next;
    const required = left.filter(({ isRequired }) => isRequired);
    if (required.length === 0) return true;
    const firstEnd = Math.min(...required.map(({ endedAt }) => endedAt));
    for (const step of left) {
      const { startedAt, prerequisites = [], change } = step;
      if (startedAt > firstEnd || prerequisites.some((each) => left.includes(each))) continue;
      const nextState = change(state);
      if (nextState === null) continue;
      const nextLeft = left.filter((each) => each !== step);
      const key = JSON.stringify([nextLeft.map((each) => steps.indexOf(each)), nextState]);
      if (!tried.has(key)) open.push({ left: nextLeft, state: nextState });
      tried.add(key);
    }
  }
  return false;
}

/** A call changes the payment, and its answer shows the payment with this change. */
function stepsOf(history: OrderHistory, call: Call): Step[] {
  const { order, calls } = history;
  const { name, outcome } = call;
  const answer = finalAnswer(call);
  const isDone = outcome === "done";
  if (outcome === "refused" && name !== "charge") {
    const isState = answer?.code === "invalid_state" || answer?.code === "validation_error";
    if (isState && isRetriedCapture(call)) {
      const change = model.capture(call.amount ?? order.amount);
      return [stepOf(call, change, false), stepOf(call, model.refuseRetriedCapture(), true)];
    }
    const reserved = reservedMeanwhile(call, calls, history.refunds);
    return isState ? [stepOf(call, model.refuse(call, order.method, reserved), true)] : [];
  }
  const changes = name === "charge"
    ? stepsOfCharge(order, call)
    : changesOf(history, call).map((change) => stepOf(call, change, isDone));
  const shown = isDone && answer?.payment;
  if (!shown) return changes;
  const prerequisites = changes.filter(({ isRequired }) => isRequired);
  return [...changes, { ...stepOf(call, model.show(shown), true), prerequisites }];
}

/** Whether it is a capture of which an earlier attempt may have reached the gateway. */
export function isRetriedCapture({ name, answers }: Call): boolean {
  return name === "capture" && answers.length > 1;
}

/** A step that takes place while the call runs; after a call without an outcome, at any time. */
function stepOf({ startedAt, endedAt }: Call, change: model.Change, isRequired: boolean): Step {
  return { startedAt, endedAt: endedAt ?? Infinity, isRequired, change };
}

function stepsOfCharge(order: Order, call: Call): Step[] {
  const { outcome, startedAt } = call;
  const isDone = outcome === "done";
  const stored = stepOf(call, model.store(), isDone);
  if (outcome === "refused") return [stored, stepOf(call, model.fail(), false)];
  // The notification about a payment or a denial can arrive before the answer.
  const steps = [stored, stepOf(call, model.answerCharge(order.method, order.amount), isDone)];
  const later = (change: model.Change, afterMs: number) =>
    steps.push({
      startedAt: startedAt + afterMs - CLOCK_TOLERANCE_MS,
      endedAt: Infinity,
      isRequired: false,
      change,
    });
  if (outcome === "unknown") later(model.fail(), GRACE_MS);
  if (order.lifeMs !== null) later(model.expire(), order.lifeMs);
  return steps;
}

/** What the call may have changed; none for a read. */
function changesOf({ order, calls, refunds }: OrderHistory, call: Call): model.Change[] {
  switch (call.name) {
    case "capture":
      return [model.capture(call.amount ?? order.amount)];
    case "cancel":
      return [model.cancel(order.method)];
    case "refund": {
      const amount = refundedBy(call, calls, refunds);
      // The gateway did not make it.
      if (amount === null) return [];
      return call.amount === null
        ? [model.refundRest(amount, reservedMeanwhile(call, calls, refunds))]
        : [model.refund(amount)];
    }
    default:
      return [];
  }
}

/**
 * The amount that the answer names, or that the call requested. A call with neither refunded what
 * no other call explains in the gateway's books; null: it refunded nothing.
 */
function refundedBy(call: Call, calls: Call[], refunds: Transaction["refunds"]): number | null {
  const known = finalAnswer(call)?.refund?.amount ?? call.amount;
  if (known !== null || call.outcome !== "unknown") return known;
  const others = calls.filter((other) => other !== call && other.name === "refund");
  const keys = others.map((other) => finalAnswer(other)?.refund?.key);
  const left = refunds.filter(({ key }) => !keys.includes(key)).map(({ amount }) => amount);
  for (const other of others.filter(({ outcome }) => outcome === "unknown")) {
    const index = left.findIndex((amount) => amount === other.amount);
    if (index !== -1) left.splice(index, 1);
  }
  return left[0] ?? null;
}

/** The amounts of other refunds that ran at the same time as this one. */
function reservedMeanwhile(
  call: Call,
  calls: Call[],
  refunds: Transaction["refunds"],
): number {
  const others = calls.filter((other) =>
    other !== call && other.name === "refund" && other.startedAt < (call.endedAt ?? Infinity) &&
    (other.endedAt ?? Infinity) > call.startedAt
  );
  return others.reduce((sum, other) => sum + (refundedBy(other, calls, refunds) ?? Infinity), 0);
}

function stepOfAct(order: Order, { name, startedAt }: Act): Step {
  const change = name === "pay" ? model.pay(order.amount) : model.deny();
  // The service learns of it when the notification arrives, or when it asks the gateway.
  return { startedAt, endedAt: Infinity, isRequired: true, change };
}
