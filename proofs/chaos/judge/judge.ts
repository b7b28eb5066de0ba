/** Judges the history of a run together with the gateway's books. */

import type { Call, Difference, History } from "../history.ts";
import { checkAnswers, findCallsNeverDone } from "./answers.ts";
import { compareWithBooks, findUnrequested } from "./books.ts";
import { checkEvents } from "./events.ts";
import { canBeExplained } from "./order_of_calls.ts";

export function judge(history: History): Difference[] {
  const allCalls = Map.groupBy(history.calls, ({ orderId }) => orderId);
  const allActs = Map.groupBy(history.acts, ({ orderId }) => orderId);
  const allTransactions = Map.groupBy(history.transactions, ({ orderId }) => orderId);
  const allPayments = Map.groupBy(history.payments, ({ orderId }) => orderId);
  const ofOrders = history.orders.flatMap((order) => {
    const { orderId } = order;
    const calls = allCalls.get(orderId) ?? [];
    const acts = allActs.get(orderId) ?? [];
    const transactions = allTransactions.get(orderId) ?? [];
    const payments = allPayments.get(orderId) ?? [];
    const refunds = transactions.flatMap((transaction) => transaction.refunds);
    const isExplained = canBeExplained({ order, calls, acts, refunds });
    return [
      ...compareWithBooks({ order, calls, transactions, payments }),
      ...checkAnswers(orderId, calls, payments),
      ...isExplained ? [] : [unexplained(orderId, calls)],
    ];
  });
  const neverDone = findCallsNeverDone(history).map((name) => ({
    rule: "each kind of call succeeds in a long run",
    orderId: null,
    text: name,
  }));
  return [...ofOrders, ...findUnrequested(history), ...checkEvents(history), ...neverDone];
}

function unexplained(orderId: string, calls: Call[]): Difference {
  const text = calls.map(({ name, outcome }) => `${name} ${outcome}`).join(", ");
  return { rule: "the answers have an order that explains them", orderId, text };
}
