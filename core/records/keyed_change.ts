/** What a change of a record notes of the key it was asked with, in the same statement. */

import type { HeldKey } from "../../db/idempotency_keys.ts";
import type { KeyUpdate } from "../../db/record_writes.ts";
import { type Reply, replyOf } from "../idempotency/reply.ts";
import type { GatewayRecord } from "./kind.ts";

/** A request under way, as far as its key goes. */
export interface Asker {
  /** Null: it bears none. */
  key: HeldKey | null;
  /** The refund it is about, so that a second try finds it. */
  refundId?: string;
  /** It comes back by itself: what the gateway did not hear of, or not now, stays open until then. */
  isTriedAgain?: boolean;
}

type NoteKey<R> = (after: R) => KeyUpdate;

/** The request ends with this answer, to be given again. */
export function answeredWith<R extends GatewayRecord>(
  asker: Asker,
  body: (after: R) => object,
  now: Date,
): NoteKey<R> | null {
  return noteKey(asker, (after: R) => ({ body: body(after) }), now);
}

/** It ends with an error, which is given again only if it is certain. */
export function failedWith(
  asker: Asker,
  error: unknown,
  now: Date,
): NoteKey<GatewayRecord> | null {
  return noteKey(asker, () => replyOf(error), now);
}

/** It goes on; whoever takes it up again has to know of its refund. */
export function goesOn(asker: Asker): NoteKey<GatewayRecord> | null {
  return asker.key && noteKey(asker, () => null, asker.key.lease_until);
}

function noteKey<R extends GatewayRecord>(
  { key, refundId }: Asker,
  reply: (after: R) => Reply | null,
  leaseUntil: Date,
): NoteKey<R> | null {
  if (!key) return null;
  const { user_id, scope, lease_until: held_until } = key;
  return (after) => ({
    user_id,
    scope,
    key: key.key,
    held_until,
    resource_id: after.id,
    refund_id: refundId ?? null,
    reply: reply(after),
    lease_until: leaseUntil,
  });
}
