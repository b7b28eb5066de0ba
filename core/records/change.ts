/** The one way a record is written: decided on what is known, valid only while that holds. */

import { batched } from "../../db/batched.ts";
import type { GatewayEvent } from "../../db/events.ts";
import type { RecordWrite } from "../../db/record_writes.ts";
import { inProgress } from "../idempotency/keys.ts";
import { newId } from "../new_id.ts";
import type { RecordDeps } from "./deps.ts";
import { dispatchAfterCommit } from "./dispatch_after_commit.ts";
import { inTurn } from "./in_turn.ts";
import type { Change, GatewayRecord, Kind } from "./kind.ts";

/**
 * `decide` sees the record as it is known; null: there is nothing to change. Should it turn out to
 * have changed meanwhile, `decide` is asked again with what it is now. No lock is held in between.
 */
export async function changeRecord<R extends GatewayRecord>(
  deps: RecordDeps,
  kind: Kind<R>,
  known: R,
  decide: (current: R) => Change<R> | null,
): Promise<R> {
  const changed = await tryChange(deps, kind, known, decide);
  // Whoever was too late does not race on: many at once would mostly be in each other's way.
  return changed ?? await inTurn(known.id, () => changeAgain(deps, kind, known, decide));
}

async function changeAgain<R extends GatewayRecord>(
  ...[deps, kind, known, decide]: Parameters<typeof changeRecord<R>>
): Promise<R> {
  for (let { version } = known;;) {
    const current = await reload(deps, kind, known.id);
    const now = new Date(deps.clock());
    // Not the record is another, but the key's holder.
    if (current.version === version) throw inProgress(now, now);
    const changed = await tryChange(deps, kind, current, decide);
    if (changed) return changed;
    version = current.version;
  }
}

/** Null: it is another record by now. */
async function tryChange<R extends GatewayRecord>(
  deps: RecordDeps,
  kind: Kind<R>,
  current: R,
  decide: (current: R) => Change<R> | null,
): Promise<R | null> {
  const change = decide(current);
  if (!change) return current;
  const write = drawUp(deps, kind, current, change);
  const written = await batched(deps.database, kind.writing, write);
  if (!written.isWritten) return null;
  dispatchAfterCommit(deps, write, written);
  return { ...write.record, version: current.version + 1 };
}

async function reload<R extends GatewayRecord>(
  { database }: RecordDeps,
  { resource, find }: Kind<R>,
  id: string,
): Promise<R> {
  const record = await database.query((sql) => find(sql, id), `find ${resource}`);
  if (!record) throw new Error(`The ${resource} ${id} is gone`);
  return record;
}

export function drawUp<R extends GatewayRecord>(
  { clock, events: listened }: RecordDeps,
  kind: Kind<R>,
  current: R,
  change: Change<R>,
): RecordWrite<R> {
  const now = new Date(clock());
  const { transition, notification } = change;
  const names = transition?.events ?? [];
  const record: R = {
    ...kind.apply(current, change),
    event_count: current.event_count + names.length,
    updated_at: now,
  };
  const events = names.map((name, index): GatewayEvent => ({
    id: newId(now),
    name,
    resource: kind.resource,
    resource_id: record.id,
    sequence: current.event_count + index + 1,
    user_id: record.user_id,
    data: { ...kind.view(record), notification_id: notification?.id ?? null, ...change.told },
    created_at: now,
  }));
  return {
    record,
    events,
    refunds: change.refunds ?? [],
    charges: change.charges ?? [],
    jobs: [
      ...change.jobs ?? [],
      ...kind.followUps(current, record, { now, notificationId: notification?.id ?? null }),
      ...listened.jobsFor(events, now),
    ],
    history: transition && kind.isNews(current, record)
      ? [{
        resource: kind.resource,
        resource_id: record.id,
        from_status: kind.stateOf(current).status,
        to_status: transition.to.status,
        fraud_status: transition.to.fraud,
        source: transition.source,
        created_at: now,
      }]
      : [],
    notifications: notification ? [notification] : [],
    key: change.key?.(record) ?? null,
    isFenced: change.isFenced ?? false,
  };
}
