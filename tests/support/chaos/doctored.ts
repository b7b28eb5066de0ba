/** What can go wrong in a run: each fault falsifies a copy of the valid history. */

import type {
  Call,
  Delivery,
  FinalPayment,
  History,
  ListedEvent,
  Transaction,
} from "../../../proofs/chaos/history.ts";
import { validHistory } from "./valid_history.ts";

/** A copy of the valid history, with shortcuts to what a fault changes. */
export interface Doctored extends History {
  callOf(orderId: string, name: Call["name"], index?: number): Call;
  paymentOf(orderId: string): FinalPayment;
  transactionOf(orderId: string): Transaction;
  eventsOf(orderId: string): ListedEvent[];
  deliveriesOf(orderId: string): Delivery[];
}

export function copyOfValid(): Doctored {
  const history = validHistory();
  const idOf = (orderId: string) => `payment-${orderId}`;
  return {
    ...history,
    callOf: (orderId, name, index = 0) =>
      history.calls.filter((call) => call.orderId === orderId && call.name === name)[index]!,
    paymentOf: (orderId) => history.payments.find((each) => each.orderId === orderId)!,
    transactionOf: (orderId) => history.transactions.find((each) => each.orderId === orderId)!,
    eventsOf: (orderId) => history.events.filter(({ paymentId }) => paymentId === idOf(orderId)),
    deliveriesOf: (orderId) =>
      history.deliveries.filter(({ paymentId }) => paymentId === idOf(orderId)),
  };
}

/** Changes what every answer of a call shows. */
export function show(call: Call, state: object): void {
  for (const { payment } of call.answers) Object.assign(payment!, state);
}

export function remove<T>(list: T[], ...items: T[]): void {
  for (const item of items) list.splice(list.indexOf(item), 1);
}

/** Makes the service refuse the call. */
export function refuse(call: Call, status: number, code: string): void {
  const answers = [{ ...call.answers[0]!, status, code, payment: null, refund: null }];
  Object.assign(call, { outcome: "refused", endedAt: answers[0]!.at, answers });
}

/** Sets the events of a payment, and their webhooks: each is a name and a status. */
export function setEvents(history: Doctored, orderId: string, texts: string[]): void {
  remove(history.deliveries, ...history.deliveriesOf(orderId));
  remove(history.events, ...history.eventsOf(orderId));
  for (const [index, text] of texts.entries()) {
    const [name, status] = text.split(" ") as [string, string];
    const id = `event-${orderId}-${index + 1}`;
    const event = { name, paymentId: `payment-${orderId}`, sequence: index + 1, status };
    history.events.push({ id, ...event });
    history.deliveries.push({ eventId: id, ...event });
  }
}

/** The call takes place between the two others. */
export function moveBetween(call: Call, before: Call, after: Call): void {
  call.startedAt = before.endedAt! + 1;
  call.endedAt = call.answers[0]!.at = after.startedAt - 1;
}

export interface Fault {
  /** Follows "finds that". */
  name: string;
  /** All rules that it breaks. */
  rules: string[];
  doctor(history: Doctored): void;
}
