/** How operations reach the gateway. */

import type { Answered } from "./fields.ts";
import type { Answer } from "./answers.ts";
import type { Draft } from "./draft.ts";

export interface CallOptions {
  /** 1 to 46 characters, one for each operation; sent where the gateway takes one. */
  idempotencyKey?: string;
  /** For the whole operation; 10 seconds unless given, 15 for a charge. */
  deadlineMs?: number;
  signal?: AbortSignal;
}

export type Ask = <T>(
  schema: Answered<T>,
  draft: Draft,
  options?: CallOptions,
) => Promise<Answer<T>>;
