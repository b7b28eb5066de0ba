/**
 * Whether the answers about one payment can be explained: there must be an order of all changes and
 * observations in which each of them is possible, and in which what ended before something else
 * began comes first. (Such a history is called linearizable.) A change of which the merchant does
 * not know whether it happened may come at any time after its start, or not at all.
 */

import { type Act, type Call, lastAnswer, type Order } from "../history.ts";
import * as model from "./model.ts";

/** A change or an observation that takes place at one moment between its start and its end. */
interface Step {
  startedAt: number;
  /** Infinity: it may take place at any time after its start. */
  endedAt: number;
  /** Whether it has taken place at the end of the run. */
  isRequired: boolean;
  change: model.Change;
}

/** Steps are bits of a number. */
const MAX_STEPS = 30;

/** `acts` and `calls` are those of the order. */
export function canBeExplained(order: Order, calls: Call[], acts: Act[]): boolean {
  const steps = [
    ...calls.flatMap((call) => stepsOf(order, call, calls)),
    ...acts.map((act) => stepOfAct(order, act)),
  ];
  if (steps.length > MAX_STEPS) {
    throw new Error(`${order.orderId} has more than ${MAX_STEPS} steps`);
  }
  return findOrder(steps);
}

/** Tries all orders, but each combination of steps and state only once. */
function findOrder(steps: Step[]): boolean {
  const tried = new Set<string>();
  const open = [{ taken: 0, state: model.NOT_CHARGED }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { taken, state } = next;
    const left = steps.flatMap((step, index) => taken & (1 << index) ? [] : [{ step, index }]);
    const required = left.filter(({ step }) => step.isRequired);
    if (required.length === 0) return true;
    const firstEnd = Math.min(...required.map(({ step }) => step.endedAt));
    for (const { step, index } of left) {
      const after = step.startedAt <= firstEnd ? step.change(state) : null;
      if (after === null) continue;
      const following = { taken: taken | (1 << index), state: after };
      const key = JSON.stringify(following);
      if (!tried.has(key)) open.push(following);
      tried.add(key);
    }
  }
  return false;
}

/** A call changes the payment, and its answer shows the payment. */
function stepsOf(order: Order, call: Call, calls: Call[]): Step[] {
  const { startedAt, outcome } = call;
  const endedAt = call.endedAt ?? Infinity;
  const isRequired = outcome === "done";
  const step = (change: model.Change, required: boolean): Step => ({
    startedAt,
    endedAt,
    isRequired: required,
    change,
  });
  const answer = lastAnswer(call);
  const observed = isRequired && answer?.payment ? [step(model.show(answer.payment), true)] : [];
  if (call.name === "charge") {
    const stored = step(model.store(), isRequired);
    const following = outcome === "refused"
      ? model.fail()
      : model.answerCharge(order.method, order.amount);
    // The notification about a payment or a denial can arrive before the answer.
    return [stored, step(following, false), ...observed];
  }
  if (call.name === "read") return observed;
  if (outcome !== "refused") return [step(changeOf(order, call), isRequired), ...observed];
  const isState = answer?.code === "invalid_state" || answer?.code === "validation_error";
  return isState
    ? [step(model.refuse(call, order.method, reservedMeanwhile(call, calls)), true)]
    : [];
}

function changeOf({ amount, method }: Order, call: Call): model.Change {
  switch (call.name) {
    case "capture":
      return model.capture(call.amount ?? amount);
    case "refund":
      return model.refund(refundedBy(call) ?? call.amount ?? amount);
    default:
      return model.cancel(method);
  }
}

/** What the answer says was refunded: without an amount, it is what was left. */
function refundedBy(call: Call): number | null {
  return lastAnswer(call)?.refund?.amount ?? null;
}

/** The amounts of other refunds that ran at the same time as this one. */
function reservedMeanwhile(call: Call, calls: Call[]): number {
  const others = calls.filter((other) =>
    other !== call && other.name === "refund" && other.startedAt < (call.endedAt ?? Infinity) &&
    (other.endedAt ?? Infinity) > call.startedAt
  );
  return others.reduce((sum, other) => sum + (refundedBy(other) ?? other.amount ?? Infinity), 0);
}

function stepOfAct(order: Order, { name, startedAt }: Act): Step {
  const change = name === "pay" ? model.pay(order.amount) : model.deny();
  // The service learns of it when the notification arrives, or when it asks the gateway.
  return { startedAt, endedAt: Infinity, isRequired: true, change };
}
