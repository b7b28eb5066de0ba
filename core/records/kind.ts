/** What payments, invoices and subscriptions have in common: records of something at the gateway. */

import type { Batched } from "../../db/batched.ts";
import type { Sql } from "../../db/database.ts";
import type { NewJob } from "../../db/jobs.ts";
import type { GatewayNotification } from "../../db/notifications.ts";
import type { GatewayRefund } from "../../db/payments.ts";
import type { KeyUpdate, RecordWrite } from "../../db/record_writes.ts";
import type { Resource } from "../../db/records.ts";
import type { SubscriptionCharge, WriteResult } from "../../db/side_effects.ts";
import type { Problems } from "./problems.ts";

export interface GatewayRecord {
  id: string;
  /** Null: it belongs to nobody, and staff alone see it. */
  user_id: string | null;
  /** When to ask the gateway, should nobody have heard from it until then. */
  check_at: Date | null;
  event_count: number;
  /** Each change raises it, and holds only for the version it was made of. */
  version: number;
  created_at: Date;
  updated_at: Date;
}

/** Whose records may be touched; null: everybody's. */
export type Owner = string | null;

export interface Kind<R extends GatewayRecord, View extends object = object> {
  resource: Resource;
  find(sql: Sql, id: string, owner?: Owner): Promise<R | null>;
  writing: Batched<RecordWrite<R>, WriteResult>;
  /** As callers and listeners see it. */
  view(record: R): View;
  stateOf(record: R): State;
  /** The record as the change leaves it, but for what every change does to every record. */
  apply(current: R, change: Change<R>): R;
  /** Whether what became of it belongs in its story. */
  isNews(before: R, after: R): boolean;
  /** What has to be looked at because of it. */
  followUps(before: R, after: R, cause: Cause): NewJob[];
  /** The job that looks into a call whose end is unknown. */
  checkJob(record: R, now: Date): NewJob;
  problems: Problems<R>;
}

export interface Cause {
  now: Date;
  notificationId: string | null;
}

export interface State {
  status: string;
  /** Of payments alone. */
  fraud: string | null;
}

export interface Change<R> {
  set?: Partial<R>;
  /** Made by the gate of its kind, and by nobody else. */
  transition?: Transition;
  /** Of a payment: those that are new or changed. */
  refunds?: GatewayRefund[];
  /** Of a subscription: those that are new. */
  charges?: SubscriptionCharge[];
  jobs?: NewJob[];
  /** The notification that told of it, with what has come of it. */
  notification?: GatewayNotification;
  /** What its events tell besides the record itself. */
  told?: object;
  /** What to note of the key the change was asked with. */
  key?: ((after: R) => KeyUpdate) | null;
  /** Whether the key's holder alone may make the change. */
  isFenced?: boolean;
}

export interface Transition {
  to: State;
  events: readonly string[];
  /** Who brought it about. */
  source: string;
}
