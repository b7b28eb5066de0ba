/** Answers a request whose record is there already, from what is known of it. */

import * as keys from "../idempotency/keys.ts";
import type { RecordDeps } from "./deps.ts";
import type { Asker } from "./keyed_change.ts";
import type { GatewayRecord, Kind } from "./kind.ts";

/** `isAnswered`: the gateway's answer is known. Else it never will be, and the problem says so. */
export async function answerAgain<R extends GatewayRecord, View extends object>(
  deps: RecordDeps,
  { view, problems }: Kind<R, View>,
  { key }: Asker,
  record: R,
  isAnswered = true,
): Promise<View> {
  const body = view(record);
  if (key) await keys.endKeyed(deps, key, isAnswered ? { body } : null);
  if (!isAnswered) throw problems.neverAnswered(record);
  return body;
}
