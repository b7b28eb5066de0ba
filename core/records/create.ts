/** Makes a record: written before the gateway is asked, and finished when it answered. */

import { type Batched, batched } from "../../db/batched.ts";
import type { Inserted, RecordInsert } from "../../db/record_writes.ts";
import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import * as keys from "../idempotency/keys.ts";
import { replyOf } from "../idempotency/reply.ts";
import type { RecordDeps } from "./deps.ts";
import type { Asker } from "./keyed_change.ts";
import type { GatewayRecord, Kind } from "./kind.ts";
import { gatewayIsDown } from "./problems.ts";

/** How one kind of record is made. */
export interface Creation<R extends GatewayRecord, View extends object> {
  kind: Kind<R, View>;
  inserting: Batched<RecordInsert<R>, Inserted>;
  /** A new one; in place of one that an earlier request with the key left, and that came to nothing. */
  draw(now: Date, replaced: R | null): R;
  /** Sends what was just written. */
  send(record: R, asker: Asker): Promise<View>;
  /** Whether the gateway refused it outright. */
  isRefused(record: R): boolean;
  /** Goes on with what an earlier request left; null: it was never made, and never will be. */
  finish(record: R, asker: Asker): Promise<View | null>;
}

interface Request<R extends GatewayRecord, View extends object> {
  caller: Caller;
  attempt: KeyedAttempt | null;
  creation: Creation<R, View>;
}

/** What a request with the same key left before: of some not even the record was written. */
interface Replaced<R> {
  id: string;
  record: R | null;
}

export async function create<R extends GatewayRecord, View extends object>(
  deps: RecordDeps,
  caller: Caller,
  attempt: KeyedAttempt | null,
  creation: Creation<R, View>,
): Promise<Outcome<View>> {
  // A key that was used before may have an answer, or something that went through: no reason to say
  // that nothing was done.
  const isDown = deps.gateway.breakerState() === "open";
  if (isDown && !(attempt && await keys.isKnown(deps, caller, attempt))) throw gatewayIsDown();
  return await begin(deps, { caller, attempt, creation }, null);
}

/** Writes the record, and sends it unless the key was used before. */
async function begin<R extends GatewayRecord, View extends object>(
  deps: RecordDeps,
  request: Request<R, View>,
  replaced: Replaced<R> | null,
): Promise<Outcome<View>> {
  const { caller, attempt, creation } = request;
  const { kind, inserting } = creation;
  const now = new Date(deps.clock());
  const record = creation.draw(now, replaced?.record ?? null);
  const key = attempt && keys.claimFor(attempt, caller, record.id, now);
  const insert = { record, key, keysSince: keys.keysSince(now), replaces: replaced?.id ?? null };
  const { isClaimed, isOrdered } = await batched(deps.database, inserting, insert);
  if (attempt && !isClaimed) return await resume(deps, request, attempt);
  if (!isOrdered) throw await refuseOrder(deps, { key }, record);
  return await kind.problems.naming(record, async () => ({
    body: await creation.send(record, { key }),
    isReplayed: false,
  }));
}

/** Goes on where an earlier request with the same key was cut short: the gateway is asked first. */
async function resume<R extends GatewayRecord, View extends object>(
  deps: RecordDeps,
  request: Request<R, View>,
  attempt: KeyedAttempt,
): Promise<Outcome<View>> {
  const { kind, finish, isRefused } = request.creation;
  const met = await keys.meetKey(deps, request.caller, attempt);
  if ("body" in met) return { body: met.body as View, isReplayed: true };
  const { key } = met;
  const id = met.earlier?.resourceId ?? null;
  const record = id === null
    ? null
    : await deps.database.query((sql) => kind.find(sql, id), `find ${kind.resource}`);
  const replaced = id === null ? null : { id, record };
  // Not even its row was written: the order id was taken.
  if (!record || isRefused(record)) return await begin(deps, request, replaced);
  return await kind.problems.naming(record, async () => {
    const body = await finish(record, { key });
    return body ? { body, isReplayed: false } : await begin(deps, request, replaced);
  });
}

async function refuseOrder(
  deps: RecordDeps,
  { key }: Asker,
  record: GatewayRecord & { order_id?: string },
): Promise<ServiceError> {
  const { order_id } = record;
  const problem = new ServiceError("duplicate_order", {
    detail: `The order id ${order_id} is taken.`,
    members: { order_id, outcome: "refused" },
  });
  if (key) await keys.endKeyed(deps, key, replyOf(problem));
  return problem;
}
