/** Judges each call by its own answers: which of them the API allows at all. */

import {
  type Answer,
  asksToRetry,
  type Call,
  CALL_NAMES,
  type CallName,
  type Difference,
  finalAnswer,
  type FinalPayment,
  type History,
} from "../history.ts";

/**
 * By call, the codes with which the service can say that nothing happened. A card that the bank
 * declines is no refusal: the charge is done, and its payment is denied. No disturbance of a run
 * makes the bank decline a refund or a capture.
 * - `invalid_state`: the payment's state does not allow the call;
 * - `validation_error`: the amount is more than what is left to refund;
 * - `gateway_error`: the service asked the gateway for the state before it changed anything, and
 *   the gateway's response could not be used.
 */
const REFUSALS: Record<CallName, readonly string[]> = {
  charge: [],
  refund: ["invalid_state", "validation_error", "gateway_error"],
  capture: ["invalid_state", "gateway_error"],
  cancel: ["invalid_state", "gateway_error"],
  read: [],
  check: ["gateway_error"],
};

/** What is wrong with the call, or null. */
type Rule = (call: Call) => string | null;

const RULES: Record<string, Rule> = {
  "every call has an outcome, unless the merchant crashed": ({ outcome, hasCrashed, answers }) => {
    if (outcome !== "unknown" || hasCrashed) return null;
    const last = answers.at(-1);
    return `${answers.length} attempts; the last answer: ${last?.status} ${last?.code}`;
  },

  "a refusal has a code that is possible": (call) => {
    if (call.outcome !== "refused") return null;
    const answer = finalAnswer(call);
    const isPossible = REFUSALS[call.name].includes(answer?.code ?? "");
    return isPossible ? null : `${answer?.status} ${answer?.code}`;
  },

  "the answer to a done call shows what it changed": (call) => {
    if (call.outcome !== "done") return null;
    const answer = finalAnswer(call);
    if (!answer?.payment) return "it shows no payment";
    return call.name === "refund" && !answer.refund ? "it shows no refund" : null;
  },

  "an acknowledged refund has succeeded": (call) => {
    const status = finalAnswer(call)?.refund?.status ?? "succeeded";
    return call.outcome === "done" && status !== "succeeded" ? `it is ${status}` : null;
  },

  "the repeat of a done call gets the same answer": (call) => {
    const answer = finalAnswer(call);
    if (call.outcome !== "done" || !answer) return null;
    const repeated = call.answers.slice(call.answers.indexOf(answer) + 1);
    const wrong = repeated.find((each) => !asksToRetry(each) && shown(each) !== shown(answer));
    return wrong ? `${shown(wrong)} instead of ${shown(answer)}` : null;
  },

  "the service does not fail": ({ answers }) => {
    const wrong = answers.find(({ status, code }) => status === 500 || code === "internal_error");
    return wrong ? `${wrong.status} ${wrong.code}` : null;
  },
};

function shown({ status, code, payment, refund }: Answer): string {
  return JSON.stringify({ status, code, payment, refund });
}

/** `calls` are those of the order. For each rule, names the first call that breaks it. */
export function checkAnswers(
  orderId: string,
  calls: Call[],
  [payment]: FinalPayment[],
): Difference[] {
  const aboutOtherOrder: Rule = ({ answers }) => {
    const wrong = answers.find((answer) =>
      answer.payment && (answer.payment.orderId !== orderId || answer.payment.id !== payment?.id)
    );
    return wrong ? `the answer is about ${wrong.payment!.orderId}, ${wrong.payment!.id}` : null;
  };
  return Object.entries({ ...RULES, "every answer is about the order": aboutOtherOrder })
    .flatMap(([rule, check]) => {
      const texts = calls.flatMap((call) => {
        const text = check(call);
        return text === null ? [] : [`${call.name}: ${text}`];
      });
      return texts.slice(0, 1).map((text) => ({ rule, orderId, text }));
    });
}

/** With fewer orders, a kind of call may have no success by chance. */
const MIN_ORDERS = 100;

/** The kinds of calls that never succeeded: such a run proves nothing about them. */
export function findCallsNeverDone({ orders, calls }: Pick<History, "orders" | "calls">) {
  if (orders.length < MIN_ORDERS) return [];
  const done = new Set(calls.filter(({ outcome }) => outcome === "done").map(({ name }) => name));
  return CALL_NAMES.filter((name) => !done.has(name));
}
