/**
 * What payments, invoices and subscriptions share: each is a local record of an object at the
 * gateway.
 */

import type { Batched } from "../../db/records/batched.ts";
import type { Sql } from "../../db/connection/database.ts";
import type { CheckoutAttempt } from "../../db/records/attempts.ts";
import type { ClaimedKey } from "../../db/records/idempotency_keys.ts";
import type { NewJob } from "../../db/jobs/jobs.ts";
import type { GatewayNotification } from "../../db/payments/notifications.ts";
import type { GatewayRefund } from "../../db/payments/payments.ts";
import type { Inserted, RecordInsert, RecordWrite } from "../../db/writing/record_writes.ts";
import type { OwnerFilter, Resource } from "../../db/records/records.ts";
import type { SubscriptionCharge, WriteResult } from "../../db/writing/side_effects.ts";
import { actorOf, type Caller, refuseViewers } from "../auth/caller.ts";
import type { Reply } from "../idempotency/reply.ts";
import type { Service } from "../service.ts";
import type { Log } from "../telemetry/log.ts";
import type { Problems } from "./problems.ts";

/**
 * The service for a request of this caller: its changes are stored with the caller as actor.
 * Throws `forbidden` for a viewer, no matter which page or route the request comes from.
 */
export function actAs(service: Service, caller: Caller): Service {
  refuseViewers(caller);
  return { ...service, actor: actorOf(caller) };
}

export interface GatewayRecord {
  id: string;
  /** Null: the record has no owner, so only staff and viewers can see it. */
  user_id: string | null;
  /** When to check the record at the gateway if no report arrives before; null: no check. */
  check_at: Date | null;
  /** The caller that created the record; null: no caller created it. */
  created_by: string | null;
  event_count: number;
  /** Every write increments it. A write only succeeds on the version it was decided on. */
  version: number;
  created_at: Date;
  updated_at: Date;
}

/** How one type of record is stored, shown and followed up. */
export interface RecordKind<R extends GatewayRecord, View extends object = object> {
  resource: Resource;
  find(sql: Sql, id: string, owner?: OwnerFilter): Promise<R | null>;
  writes: Batched<RecordWrite<R>, WriteResult>;
  /** The record as API responses and events show it. */
  view(record: R): View;
  /**
   * The values of the record that a form of the console shows. Its action is refused if they have
   * changed.
   */
  shownOf(view: View): string;
  stateOf(record: R): State;
  /** The columns that only the insert writes. */
  fixed: ReadonlySet<string>;
  /**
   * What would be wrong with the record if it were written like this; null: nothing. `before`: the
   * record that the write changes; null: the record is new.
   */
  findViolation(record: R, before: R | null): string | null;
  /** Returns the changed record; `buildWrite` sets `event_count` and `updated_at`. */
  apply(current: R, change: Change<R>): R;
  /** Whether the change gets a history row. */
  belongsInHistory(before: R, after: R): boolean;
  /**
   * Payments only: whether statistics count the record differently after a change that is no
   * transition.
   */
  needsRecount?(before: R, after: R): boolean;
  /** Jobs for other records that this change affects. */
  followUps(before: R, after: R, cause: ChangeCause): NewJob[];
  /** The job that finds out the result of a call with an unknown outcome. */
  checkJob(record: R, now: Date): NewJob;
  problems: Problems<R>;
}

/** A type of record that requests create at the gateway (`records/create.ts`). */
export interface CreatedKind<R extends GatewayRecord, View extends object = object>
  extends RecordKind<R, View> {
  inserts: Batched<RecordInsert<R>, Inserted>;
}

export interface ChangeCause {
  now: Date;
  notificationId: string | null;
}

export interface State {
  status: string;
  /** Payments only. */
  fraud: string | null;
}

export interface Change<R> {
  set?: Partial<R>;
  /** One file of each resource creates transitions; a test enforces this. */
  transition?: Transition;
  /** Payments only: new or changed refunds. */
  refunds?: GatewayRefund[];
  /** Subscriptions only: new charges. */
  charges?: SubscriptionCharge[];
  /** Checkouts only: new or changed attempts. */
  attempts?: CheckoutAttempt[];
  jobs?: NewJob[];
  /** The notification that caused the change, with its result. */
  notification?: GatewayNotification;
  /** Members of the events' data in addition to the record. */
  eventData?: object;
  /** What to store with the idempotency key of the request that makes the change. */
  key?: KeyChange<R> | null;
}

/** What a change stores with the idempotency key of its request. */
export interface KeyChange<R> {
  claimed: ClaimedKey;
  /**
   * Whether nothing is written if another request has taken over the key. What the gateway did for
   * this request is written in any case, or its id would be lost.
   */
  isRequired: boolean;
  /** The refund that the request created. */
  refundId: string | null;
  /** Whether the request ends. Without a reply, the key is then free for a retry. */
  isEnded: boolean;
  /** The reply, computed from the record after the change; null: there is none yet. */
  reply: (after: R) => Reply | null;
}

export interface Transition {
  to: State;
  events: readonly string[];
  /** What caused it: an action, a task or a notification. */
  source: string;
}

/**
 * Checks what is always true of a record, just before the record is written. A violation is a
 * mistake in this program, or a change of the database by another one: it is logged, and nothing is
 * written. `before`: the record that the write changes by `set`; null: the record is new.
 */
export function requireInvariants<R extends GatewayRecord>(
  { log }: { log: Log },
  kind: RecordKind<R>,
  record: R,
  before: R | null,
  set: Partial<R> = {},
): void {
  // Comparing all columns would take longer than all other checks.
  const changed = Object.keys(set).find((name) =>
    kind.fixed.has(name) && record[name as keyof R] !== before?.[name as keyof R]
  );
  const violation = changed ? `${changed} never changes` : kind.findViolation(record, before);
  if (violation) throw violationOf(log, kind.resource, record.id, violation);
}

/** Logs the violation, and returns the error to throw. */
export function violationOf(log: Log, resource: Resource, id: string, violation: string): Error {
  const error = new Error(
    `The ${resource} ${id} is wrong, and nothing was written: ${violation}`,
  );
  log.error("invariant_violated", error, { [`${resource}_id`]: id });
  return error;
}

/** The violation if a member that is set once gets another value; null: there is none. */
export function findReset<R>(record: R, before: R, names: readonly (keyof R & string)[]) {
  const reset = names.find((name) => before[name] !== null && record[name] !== before[name]);
  return reset ? `${reset} does not change once it is set` : null;
}
