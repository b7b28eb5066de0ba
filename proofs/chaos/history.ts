/**
 * What a run has recorded: the calls of the merchant with their answers, the acts of the customers,
 * and what the service, the gateway and the webhooks say at the end. It is plain data, so that
 * tests can falsify a copy of it. Amounts are rupiah, times are milliseconds of one clock.
 */

export const CALL_NAMES = ["charge", "refund", "capture", "cancel", "read", "check"] as const;

/** `read` shows what the service stores; `check` makes it ask the gateway first. */
export type CallName = typeof CALL_NAMES[number];

/** A payment as an answer shows it. */
export interface PaymentState {
  id: string;
  orderId: string;
  transactionId: string | null;
  status: string;
  grossAmount: number;
  capturedAmount: number | null;
  refundedAmount: number;
}

/** A refund as an answer shows it. */
export interface RefundState {
  id: string;
  key: string;
  amount: number;
  status: string;
}

/** One response to one attempt of a call. */
export interface Answer {
  at: number;
  /** The HTTP status; 0: the connection broke, or no response came in time. */
  status: number;
  /** The `code` of a problem document; null in a success. */
  code: string | null;
  /** Whether it has a `Retry-After` header. */
  hasRetryAfter: boolean;
  payment: PaymentState | null;
  refund: RefundState | null;
}

/**
 * - `done`: the service said that it is done.
 * - `refused`: the service said that nothing happened.
 * - `unknown`: the merchant crashed or stopped before it knew the outcome.
 */
export type Outcome = "done" | "refused" | "unknown";

/** A call that the merchant repeated, with one idempotency key, until it knew the outcome. */
export interface Call {
  orderId: string;
  name: CallName;
  /** The idempotency key; null: the call writes nothing. */
  key: string | null;
  /** The requested amount; null: the whole amount, or a call without one. */
  amount: number | null;
  /** When the first attempt was sent. */
  startedAt: number;
  /** When the outcome was known; null: the merchant never knew it. */
  endedAt: number | null;
  outcome: Outcome;
  /** The merchant's process crashed on purpose before it knew the outcome. */
  hasCrashed: boolean;
  /** Of all attempts, in order; also of a repetition after the outcome was known. */
  answers: Answer[];
}

/** An action of the customer or the bank that the gateway accepted. */
export interface Act {
  orderId: string;
  name: "pay" | "deny";
  startedAt: number;
}

/** How the gateway decides about a charge at once. */
export type Method = "paid_later" | "paid_at_once" | "held" | "denied";

export interface Order {
  orderId: string;
  method: Method;
  amount: number;
  /** The gateway expires the payment if it is pending for this long; null: it is never pending. */
  lifeMs: number | null;
}

/** A transaction in the gateway's books. */
export interface Transaction {
  id: string;
  orderId: string;
  /** The id of the service's payment that the charge named. */
  paymentId: string | null;
  status: string;
  amount: number;
  refunds: { key: string; amount: number }[];
}

/** A payment of the service at the end, with its refunds. */
export interface FinalPayment extends PaymentState {
  refunds: RefundState[];
}

/** An event of the service's list, oldest first. */
export interface ListedEvent {
  id: string;
  name: string;
  paymentId: string;
  sequence: number;
  status: string;
}

/** A webhook that was received; repeated deliveries have the same event. */
export interface Delivery {
  eventId: string;
  name: string;
  paymentId: string;
  sequence: number;
  status: string;
}

export interface History {
  orders: Order[];
  calls: Call[];
  acts: Act[];
  /** The books of the gateway at the end. */
  transactions: Transaction[];
  payments: FinalPayment[];
  events: ListedEvent[];
  deliveries: Delivery[];
}

/** A rule that the run broke. */
export interface Difference {
  rule: string;
  /** Null: it concerns no order of the run. */
  orderId: string | null;
  text: string;
}

/** The answer that stated the outcome; null: the outcome is unknown. */
export function finalAnswer({ answers, endedAt }: Call): Answer | null {
  return answers.find(({ at }) => at === endedAt) ?? null;
}

/** Whether the caller has to repeat the call: there was no response, or it says so. */
export function asksToRetry({ status, hasRetryAfter }: Answer): boolean {
  return status === 0 || status === 409 || status === 429 || status >= 500 || hasRetryAfter;
}
