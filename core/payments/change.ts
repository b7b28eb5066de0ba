/** The one way a payment is written: decided on what is known, valid only while that holds. */

import type { GatewayEvent } from "../../db/events.ts";
import type { NewJob } from "../../db/jobs.ts";
import type { GatewayNotification } from "../../db/notifications.ts";
import { findPayment, type GatewayPayment } from "../../db/payments.ts";
import type { GatewayRefund } from "../../db/refunds.ts";
import { together } from "../../db/together.ts";
import { type KeyUpdate, type PaymentWrite, writingPayments } from "../../db/write_payment.ts";
import { inProgress } from "../idempotency/keys.ts";
import { newId } from "../new_id.ts";
import type { PaymentDeps } from "./deps.ts";
import { inTurn } from "./in_turn.ts";
import type { PaymentEventName, State } from "./states.ts";
import { viewPayment } from "./views.ts";

/** Set by a transition alone. */
type StateMember = "transaction_status" | "fraud_status" | "event_count";

/** Nobody's to set. */
type FixedMember = "id" | "version" | "created_at" | "updated_at" | "items" | "refunds";

export interface Change {
  set?: Partial<Omit<GatewayPayment, StateMember | FixedMember>>;
  /** Made by the gate, and by nobody else. */
  transition?: Transition;
  /** Those that are new or changed. */
  refunds?: GatewayRefund[];
  jobs?: NewJob[];
  /** The notification that told of it, with what has come of it. */
  notification?: GatewayNotification;
  /** What to note of the key the change was asked with. */
  key?: ((after: GatewayPayment) => KeyUpdate) | null;
  /** Whether the key's holder alone may make the change. */
  isFenced?: boolean;
}

export interface Transition {
  to: State;
  events: PaymentEventName[];
  /** Who brought it about. */
  source: string;
}

/**
 * `decide` sees the payment as it is known; null: there is nothing to change. Should it turn out to
 * have changed meanwhile, `decide` is asked again with what it is now. No lock is held in between.
 */
export async function changePayment(
  deps: PaymentDeps,
  known: GatewayPayment,
  decide: (current: GatewayPayment) => Change | null,
): Promise<GatewayPayment> {
  const changed = await tryChange(deps, known, decide);
  // Whoever was too late does not race on: many at once would mostly be in each other's way.
  return changed ?? await inTurn(known.id, () => changeAgain(deps, known, decide));
}

async function changeAgain(...[deps, known, decide]: Parameters<typeof changePayment>) {
  for (let { version } = known;;) {
    const current = await reload(deps, known.id);
    const now = new Date(deps.clock());
    // Not the payment is another, but the key's holder.
    if (current.version === version) throw inProgress(now, now);
    const changed = await tryChange(deps, current, decide);
    if (changed) return changed;
    version = current.version;
  }
}

/** Null: it is another payment by now. */
async function tryChange(
  deps: PaymentDeps,
  current: GatewayPayment,
  decide: (current: GatewayPayment) => Change | null,
): Promise<GatewayPayment | null> {
  const change = decide(current);
  if (!change) return current;
  const write = drawUp(deps, current, change);
  const { isWritten, jobs } = await together(deps.database, writingPayments, write);
  if (!isWritten) return null;
  for (const job of jobs) deps.carrier.carry(job);
  return { ...write.payment, version: current.version + 1 };
}

async function reload({ database }: PaymentDeps, id: string): Promise<GatewayPayment> {
  const payment = await database.query((sql) => findPayment(sql, id), "find payment");
  if (!payment) throw new Error(`Payment ${id} is gone`);
  return payment;
}

export function drawUp(
  { clock, events: listened }: PaymentDeps,
  current: GatewayPayment,
  change: Change,
): PaymentWrite {
  const now = new Date(clock());
  const { transition, refunds = [], jobs = [] } = change;
  const payment: GatewayPayment = {
    ...current,
    ...change.set,
    ...transition && {
      transaction_status: transition.to.status,
      fraud_status: transition.to.fraud,
      event_count: current.event_count + transition.events.length,
    },
    refunds: merge(current.refunds, refunds),
    updated_at: now,
  };
  const isNews = current.transaction_status !== payment.transaction_status ||
    current.refunded_amount !== payment.refunded_amount ||
    (current.fraud_status !== payment.fraud_status && current.transaction_id !== null);
  const events: GatewayEvent[] = (transition?.events ?? []).map((name, index) => ({
    id: newId(now),
    name,
    resource: "payment",
    resource_id: payment.id,
    sequence: current.event_count + index + 1,
    user_id: payment.user_id,
    data: { ...viewPayment(payment), notification_id: change.notification?.id ?? null },
    created_at: now,
  }));
  return {
    payment,
    refunds,
    events,
    jobs: [...jobs, ...listened.jobsFor(events, now)],
    history: transition && isNews
      ? [{
        payment_id: payment.id,
        from_status: current.transaction_status,
        to_status: transition.to.status,
        fraud_status: transition.to.fraud,
        source: transition.source,
        created_at: now,
      }]
      : [],
    notifications: change.notification ? [change.notification] : [],
    key: change.key?.(payment) ?? null,
    isFenced: change.isFenced ?? false,
  };
}

function merge(known: GatewayRefund[], news: GatewayRefund[]): GatewayRefund[] {
  const byId = new Map([...known, ...news].map((refund) => [refund.id, refund]));
  // As they will be read.
  return [...byId.values()].sort((a, b) =>
    a.created_at.getTime() - b.created_at.getTime() || (a.id < b.id ? -1 : 1)
  );
}
