/** What a change of a payment notes of the key it was asked with, in the same statement. */

import type { KeyId } from "../../db/idempotency_keys.ts";
import type { GatewayPayment, KeyUpdate } from "../../db/payments.ts";
import { type Reply, replyOf } from "../idempotency/reply.ts";

/** A request under way, as far as its key goes. */
export interface Asker {
  /** Null: it bears none. */
  key: KeyId | null;
  /** The refund it is about, so that a second try finds it. */
  refundId?: string;
}

type NoteKey = (after: GatewayPayment) => KeyUpdate;

/** The request ends with this answer, to be given again. */
export function answeredWith(
  asker: Asker,
  body: (after: GatewayPayment) => object,
  now: Date,
): NoteKey | null {
  return noteKey(asker, (after) => ({ body: body(after) }), now);
}

/** It ends with an error, which is given again only if it is certain. */
export function failedWith(asker: Asker, error: unknown, now: Date): NoteKey | null {
  return noteKey(asker, () => replyOf(error), now);
}

/** It goes on until then; whoever takes it up again has to know of its refund. */
export function goesOn(asker: Asker, leaseUntil: Date): NoteKey | null {
  return noteKey(asker, () => null, leaseUntil);
}

function noteKey(
  { key, refundId }: Asker,
  reply: (after: GatewayPayment) => Reply | null,
  leaseUntil: Date,
): NoteKey | null {
  return key && ((after) => ({
    ...key,
    payment_id: after.id,
    refund_id: refundId ?? null,
    reply: reply(after),
    lease_until: leaseUntil,
  }));
}
