/** Answers as they are kept, to be given again. */

import { ERROR_CODES, type ErrorCode, ServiceError } from "../errors.ts";

export type Reply = { body: object } | { problem: KeptProblem };

interface KeptProblem {
  code: ErrorCode;
  detail: string | null;
  members: Record<string, unknown>;
}

/** The headers of an answer that is given again. */
export const REPLAYED = { "Idempotency-Replayed": "true" };

/** Null for an error that may be another the next time: nothing is certain, or nothing was tried. */
export function replyOf(error: unknown): Reply | null {
  if (!(error instanceof ServiceError)) return null;
  const { code, status, detail, members, headers } = error;
  const isPassing = status >= 500 || "Retry-After" in headers || members.outcome === "unknown";
  return isPassing ? null : { problem: { code, detail, members } };
}

/** The body that was answered, or the problem thrown again. */
export function replay(kept: unknown): object {
  const reply = kept as Reply;
  if ("body" in reply) return reply.body;
  const { code, detail, members } = reply.problem;
  // A code that was given up since would have no status to answer with.
  if (!Object.hasOwn(ERROR_CODES, code)) throw new Error(`Unknown code in a kept answer: ${code}`);
  throw new ServiceError(code, { detail: detail ?? undefined, members, headers: REPLAYED });
}
