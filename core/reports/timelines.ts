/** `readTimeline`: what happened to a payment, an invoice or a subscription, in order. */

import type { GatewayNotification } from "../../db/payments/notifications.ts";
import type { Resource } from "../../db/records/records.ts";
import {
  listEventsOf,
  listLinkedPayments,
  listNotificationsOf,
  listRefundsOf,
  listTransitions,
  type TimelineDelivery,
  type TimelineEvent,
  type TimelinePayment,
  type TimelineRefund,
  type TimelineTransition,
} from "../../db/reports/timelines.ts";
import { type Caller, canReadAll } from "../auth/caller.ts";
import type { EventName } from "../events/names.ts";
import { checkoutKind } from "../checkouts/checkout_record.ts";
import { invoiceKind } from "../invoices/invoice_record.ts";
import { paymentKind } from "../payments/payment_record.ts";
import { type RefundDetailsView, viewRefundDetails } from "../payments/views.ts";
import { findOwn, ownerFor } from "../records/read.ts";
import type { Service } from "../service.ts";
import { subscriptionKind } from "../subscriptions/subscription_record.ts";

/** A timeline has the newest entries, at most this many of each type, of the newest payments. */
const LIMITS = { entries: 500, payments: 100 };

/**
 * Entries with the same time have this order: a notification causes a transition and its events.
 */
const TYPES = ["notification", "refund", "transition", "event"] as const;

export interface TimelineEntry {
  at: string;
  type: (typeof TYPES)[number];
  /**
   * The payment that the entry is about. Null: it is about the invoice or subscription itself, or a
   * notification matched no payment.
   */
  payment_id: string | null;
  transition: TransitionView | null;
  refund: RefundDetailsView | null;
  notification: NotificationView | null;
  event: EventView | null;
}

interface TransitionView {
  from_status: string | null;
  to_status: string;
  fraud_status: string | null;
  source: string;
  /** Only for staff and viewers; otherwise null. */
  actor: string | null;
  /** The name of the API key or JWT of the actor; null also if no caller caused it. */
  actor_name: string | null;
}

interface NotificationView {
  id: string;
  transaction_status: string;
  status: GatewayNotification["status"];
  error_message: string | null;
}

interface EventView {
  id: string;
  name: EventName;
  sequence: number;
  deliveries: DeliveryView[];
}

interface DeliveryView {
  endpoint_id: string | null;
  /** The host of the endpoint's address. */
  endpoint_host: string | null;
  status: TimelineDelivery["status"];
  attempts: number;
  status_code: number | null;
  error: string | null;
  last_attempt_at: string | null;
  next_attempt_at: string | null;
  delivered_at: string | null;
}

export interface TimelineView {
  resource: Resource;
  id: string;
  /** False: the oldest entries are missing. */
  is_complete: boolean;
  /** Oldest first. */
  entries: TimelineEntry[];
}

/** A timeline, and the payments that its entries are about. */
export interface TimelineAndPayments {
  timeline: TimelineView;
  payments: TimelinePayment[];
}

export async function readTimeline(
  service: Service,
  caller: Caller,
  resource: Resource,
  id: string,
  limits = LIMITS,
): Promise<TimelineView> {
  return (await readTimelineAndPayments(service, caller, resource, id, limits)).timeline;
}

export async function readTimelineAndPayments(
  service: Service,
  caller: Caller,
  resource: Resource,
  id: string,
  limits = LIMITS,
): Promise<TimelineAndPayments> {
  const { database } = service;
  const payments = await findPayments(service, caller, resource, id, limits.payments + 1);
  const included = payments.slice(0, limits.payments);
  const paymentIds = included.map((payment) => payment.id);
  const ids = resource === "payment" ? [id] : [id, ...paymentIds];
  const limit = limits.entries + 1;
  const canSeeAll = canReadAll(caller);
  const { transitions, refunds, notifications, events } = await database.query(
    async (sql) => ({
      transitions: await listTransitions(sql, ids, limit),
      refunds: await listRefundsOf(sql, paymentIds, limit),
      notifications: await listNotificationsOf(sql, included, canSeeAll, limit),
      events: await listEventsOf(sql, ids, limit),
    }),
    "read timeline",
  );
  const all = [transitions, refunds, notifications, events];
  const orders = new Map(included.map((payment) => [payment.id, payment.order_id]));
  const paymentOf = (recordId: string | null) =>
    recordId !== null && orders.has(recordId) ? recordId : null;
  // Each list is reversed, so that it is in the order in which its rows were written.
  const entries = [
    ...lastInOrder(transitions).map((each) => transitionEntry(each, paymentOf, canSeeAll)),
    ...lastInOrder(refunds).map((each) => refundEntry(each, orders.get(each.payment_id)!, caller)),
    ...lastInOrder(notifications).map((each) => notificationEntry(each, paymentOf, canSeeAll)),
    ...lastInOrder(events).map((each) => eventEntry(each, paymentOf, canSeeAll)),
  ];
  const timeline = {
    resource,
    id,
    is_complete: payments.length <= limits.payments &&
      all.every((rows) => rows.length <= limits.entries),
    entries: entries.sort(compareEntries),
  };
  return { timeline, payments: included };

  function lastInOrder<Row>(rows: Row[]): Row[] {
    return rows.slice(0, limits.entries).reverse();
  }
}

export type { TimelinePayment };

/** The payments in the timeline, newest first. Throws `not_found` for a record of another user. */
async function findPayments(
  service: Service,
  caller: Caller,
  resource: Resource,
  id: string,
  limit: number,
): Promise<TimelinePayment[]> {
  if (resource === "payment") return [await findOwn(service, paymentKind, caller, id)];
  if (resource === "invoice") await findOwn(service, invoiceKind, caller, id);
  else if (resource === "checkout") await findOwn(service, checkoutKind, caller, id);
  else await findOwn(service, subscriptionKind, caller, id);
  const link = `${resource}_id` as const;
  return await service.database.query(
    (sql) => listLinkedPayments(sql, link, id, ownerFor(caller), limit),
    "list linked payments",
  );
}

type PaymentOf = (recordId: string | null) => string | null;

const NO_DETAILS = { transition: null, refund: null, notification: null, event: null };

function transitionEntry(
  entry: TimelineTransition,
  paymentOf: PaymentOf,
  canSeeAll: boolean,
): TimelineEntry {
  const { from_status, to_status, fraud_status, source } = entry;
  const { actor, actor_name } = canSeeAll ? entry : { actor: null, actor_name: null };
  const transition = { from_status, to_status, fraud_status, source, actor, actor_name };
  return {
    at: entry.created_at.toISOString(),
    type: "transition",
    payment_id: paymentOf(entry.resource_id),
    ...NO_DETAILS,
    transition,
  };
}

function refundEntry(refund: TimelineRefund, order_id: string, caller: Caller): TimelineEntry {
  return {
    at: refund.created_at.toISOString(),
    type: "refund",
    payment_id: refund.payment_id,
    ...NO_DETAILS,
    refund: viewRefundDetails(caller, { ...refund, order_id }),
  };
}

function notificationEntry(
  notification: GatewayNotification,
  paymentOf: PaymentOf,
  canSeeAll: boolean,
): TimelineEntry {
  const { id, transaction_status, status, error_message, created_at, payment_id } = notification;
  return {
    at: created_at.toISOString(),
    type: "notification",
    payment_id: paymentOf(payment_id),
    ...NO_DETAILS,
    notification: {
      id,
      transaction_status,
      status,
      error_message: canSeeAll ? error_message : null,
    },
  };
}

function eventEntry(event: TimelineEvent, paymentOf: PaymentOf, canSeeAll: boolean): TimelineEntry {
  const { id, name, sequence, deliveries, created_at, resource_id } = event;
  return {
    at: created_at.toISOString(),
    type: "event",
    payment_id: paymentOf(resource_id),
    ...NO_DETAILS,
    event: {
      id,
      name: name as EventName,
      sequence,
      deliveries: deliveries.map((delivery) => viewDelivery(delivery, canSeeAll)),
    },
  };
}

/** Only staff and viewers see the endpoint, its response and the error. */
function viewDelivery(delivery: TimelineDelivery, canSeeAll: boolean): DeliveryView {
  return {
    endpoint_id: canSeeAll ? delivery.endpoint_id : null,
    endpoint_host: canSeeAll ? new URL(delivery.url).host : null,
    status: delivery.status,
    attempts: delivery.attempts,
    status_code: canSeeAll ? delivery.status_code : null,
    error: canSeeAll ? delivery.error : null,
    last_attempt_at: toIso(delivery.last_attempt_at),
    next_attempt_at: toIso(delivery.next_attempt_at),
    delivered_at: toIso(delivery.delivered_at),
  };
}

function toIso(time: string | null): string | null {
  return time && new Date(time).toISOString();
}

/** `sort` is stable, so entries of one type and time keep their order. */
function compareEntries(a: TimelineEntry, b: TimelineEntry): number {
  if (a.at !== b.at) return a.at < b.at ? -1 : 1;
  return TYPES.indexOf(a.type) - TYPES.indexOf(b.type);
}
