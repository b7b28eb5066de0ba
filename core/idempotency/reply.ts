/** Replies as they are stored with an idempotency key. */

import { ERROR_CODES, type ErrorCode, ServiceError } from "../errors.ts";

export type Reply = { body: object } | { problem: StoredProblem };

interface StoredProblem {
  code: ErrorCode;
  detail: string | null;
  members: Record<string, unknown>;
}

/** Response headers of a replayed reply. */
export const REPLAYED = { "Idempotency-Replayed": "true" };

/**
 * Null for an error that is not stored, because a retry may have another result. A retry of a
 * forbidden request may come with another credential of the same user.
 */
export function replyFor(error: unknown): Reply | null {
  if (!(error instanceof ServiceError)) return null;
  const { code, status, detail, members, headers } = error;
  const isTransient = status >= 500 || code === "forbidden" || "Retry-After" in headers ||
    members.outcome === "unknown";
  return isTransient ? null : { problem: { code, detail, members } };
}

/** Returns the stored body, or throws the stored problem. */
export function replay(stored: unknown): object {
  const reply = stored as Reply;
  if ("body" in reply) return reply.body;
  const { code, detail, members } = reply.problem;
  // A code that a later release removed has no status to respond with.
  if (!Object.hasOwn(ERROR_CODES, code)) throw new Error(`Unknown error code in a reply: ${code}`);
  throw new ServiceError(code, { detail: detail ?? undefined, members, headers: REPLAYED });
}
