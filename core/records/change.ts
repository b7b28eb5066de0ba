/** Changes a record. A change is written only to the version of the record it was decided on. */

import { serializeByKey } from "../../concurrency/serialize_by_key.ts";
import { batched } from "../../db/records/batched.ts";
import type { NewEvent } from "../../db/events/events.ts";
import type { KeyUpdate, RecordWrite } from "../../db/writing/record_writes.ts";
import { type NewHistory, RECOUNT } from "../../db/records/records.ts";
import type { SideEffects, WriteResult } from "../../db/writing/side_effects.ts";
import { newId } from "../ids.ts";
import type { Service } from "../service.ts";
import {
  type Change,
  type GatewayRecord,
  type KeyChange,
  type RecordKind,
  requireInvariants,
} from "./record.ts";
import { eventCountOf } from "./restored.ts";

/**
 * `decide` returns the change for the given record; null: nothing to change. If another write came
 * first, `decide` runs again with the changed record. No database lock is held while it runs.
 */
export async function changeRecord<R extends GatewayRecord>(
  service: Service,
  kind: RecordKind<R>,
  known: R,
  decide: (current: R) => Change<R> | null,
): Promise<R> {
  const changed = await tryChange(service, kind, known, decide);
  // Retries of one record run one after the other: in parallel most of them would fail again.
  return changed ?? await serializeByKey(known.id, () => changeAgain(service, kind, known, decide));
}

/** Stops the scheduled checks of a record. A notification can still change it. */
export async function stopChecks<R extends GatewayRecord>(
  service: Service,
  kind: RecordKind<R>,
  known: R,
): Promise<R> {
  const set = { check_at: null } as Partial<R>;
  return await changeRecord(service, kind, known, ({ check_at }) => check_at ? { set } : null);
}

async function changeAgain<R extends GatewayRecord>(
  ...[service, kind, known, decide]: Parameters<typeof changeRecord<R>>
): Promise<R> {
  for (let { version } = known, hasKey = true;;) {
    const current = await reload(service, kind, known.id);
    // The record did not change, so the write failed because another request has claimed the key.
    if (current.version === version) {
      if (decide(current)?.key?.isRequired !== false) throw kind.problems.takenOver(current);
      hasKey = false;
    }
    const decideNow = hasKey ? decide : (latest: R) => withoutKey(decide(latest));
    const changed = await tryChange(service, kind, current, decideNow);
    if (changed && !hasKey) throw kind.problems.takenOver(changed);
    if (changed) return changed;
    version = current.version;
  }
}

/** Null: the change stores nothing but the reply. */
function withoutKey<R>(change: Change<R> | null): Change<R> | null {
  const { key: _, ...rest } = change ?? {};
  return Object.values(rest).some((part) => Object.keys(part ?? {}).length > 0) ? rest : null;
}

/** Null: another write came first. */
async function tryChange<R extends GatewayRecord>(
  service: Service,
  kind: RecordKind<R>,
  current: R,
  decide: (current: R) => Change<R> | null,
): Promise<R | null> {
  const change = decide(current);
  if (!change) return current;
  const write = buildWrite(service, kind, current, change);
  const result = await batched(service.database, kind.writes, write);
  if (!result.isWritten) return null;
  dispatchAfterCommit(service, write, result);
  return { ...write.record, version: current.version + 1 };
}

async function reload<R extends GatewayRecord>(
  { database }: Service,
  { resource, find }: RecordKind<R>,
  id: string,
): Promise<R> {
  const record = await database.query((sql) => find(sql, id), `find ${resource}`);
  if (!record) throw new Error(`The ${resource} ${id} no longer exists`);
  return record;
}

/**
 * The record after the change, with all rows that the same statement writes. Throws if the change
 * violates an invariant of the record.
 */
export function buildWrite<R extends GatewayRecord>(
  service: Service,
  kind: RecordKind<R>,
  current: R,
  change: Change<R>,
): RecordWrite<R> {
  const now = new Date(service.clock());
  const { transition, notification } = change;
  const names = transition?.events ?? [];
  const event_count = eventCountOf(service, current);
  const record: R = {
    ...kind.apply(current, change),
    event_count: event_count + names.length,
    updated_at: now,
  };
  requireInvariants(service, kind, record, current, change.set);
  const events = names.map((name, index): NewEvent => ({
    id: newId(now),
    name,
    resource: kind.resource,
    resource_id: record.id,
    sequence: event_count + index + 1,
    user_id: record.user_id,
    data: { ...kind.view(record), notification_id: notification?.id ?? null, ...change.eventData },
    created_at: now,
    subscribers: service.events.tasksFor(name),
  }));
  return {
    record,
    previous: current,
    events,
    refunds: change.refunds ?? [],
    charges: change.charges ?? [],
    attempts: change.attempts ?? [],
    jobs: [
      ...change.jobs ?? [],
      ...kind.followUps(current, record, { now, notificationId: notification?.id ?? null }),
    ],
    history: historyOf(service, kind, current, record, change),
    notifications: notification ? [notification] : [],
    key: change.key ? keyUpdate(change.key, record) : null,
  };
}

function keyUpdate<R extends GatewayRecord>(
  { claimed, refundId, isEnded, reply }: KeyChange<R>,
  after: R,
): KeyUpdate {
  return {
    user_id: claimed.user_id,
    scope: claimed.scope,
    key: claimed.key,
    lease_id: claimed.lease_id,
    resource_id: after.id,
    refund_id: refundId,
    reply: reply(after),
    is_ended: isEnded,
  };
}

function historyOf<R extends GatewayRecord>(
  service: Service,
  kind: RecordKind<R>,
  before: R,
  after: R,
  { transition, notification }: Change<R>,
): NewHistory[] {
  const isTransition = transition !== undefined && kind.belongsInHistory(before, after);
  if (!isTransition && !kind.needsRecount?.(before, after)) return [];
  const { status, fraud } = kind.stateOf(after);
  return [{
    resource: kind.resource,
    resource_id: after.id,
    from_status: kind.stateOf(before).status,
    to_status: status,
    fraud_status: fraud,
    source: isTransition ? transition.source : RECOUNT,
    actor: isTransition ? actorOfChange(service, transition.source, notification?.id) : null,
    created_at: after.updated_at,
  }];
}

/** The caller, if its request makes the change; otherwise the notification or the task. */
export function actorOfChange(
  { actor }: Pick<Service, "actor">,
  source: string,
  notificationId: string | undefined,
): string {
  if (actor !== undefined) return actor;
  if (notificationId !== undefined) return `notification:${notificationId}`;
  return source === "notification" ? source : `task:${source}`;
}

/** Enqueues the jobs and publishes the events of a committed write. */
export function dispatchAfterCommit(
  { jobQueue, waker }: Pick<Service, "jobQueue" | "waker">,
  { events }: Pick<SideEffects, "events">,
  { jobs }: WriteResult,
): void {
  for (const job of jobs) jobQueue.enqueue(job);
  if (events.length > 0) waker.wakePublisher();
}
