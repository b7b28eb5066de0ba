/** An answer that comes again under the same idempotency key. */

import type { Stored } from "./table.ts";

export interface Kept {
  /** Failures are not kept: the same key then tries again. */
  isSuccess: boolean;
}

export interface KeptAnswer extends Stored {
  until: number;
  answer: Kept;
}
