/** Judges the history of a run together with the gateway's books. */

import type { Difference, History } from "../history.ts";
import { compareWithBooks, findInvented } from "./books.ts";
import { checkEvents } from "./events.ts";
import { canBeExplained } from "./order_of_calls.ts";

export function judge(history: History): Difference[] {
  const calls = Map.groupBy(history.calls, ({ orderId }) => orderId);
  const acts = Map.groupBy(history.acts, ({ orderId }) => orderId);
  const transactions = Map.groupBy(history.transactions, ({ orderId }) => orderId);
  const payments = Map.groupBy(history.payments, ({ orderId }) => orderId);
  const ofOrders = history.orders.flatMap((order) => {
    const { orderId } = order;
    const own = calls.get(orderId) ?? [];
    const differences = compareWithBooks({
      order,
      calls: own,
      transactions: transactions.get(orderId) ?? [],
      payments: payments.get(orderId) ?? [],
    });
    if (canBeExplained(order, own, acts.get(orderId) ?? [])) return differences;
    const text = own.map(({ name, outcome }) => `${name} ${outcome}`).join(", ");
    return [...differences, {
      rule: "the answers have an order that explains them",
      orderId,
      text,
    }];
  });
  return [...ofOrders, ...findInvented(history), ...checkEvents(history)];
}
