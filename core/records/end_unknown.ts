/** Ends a request whose end at the gateway nobody knows: a job will find out. */

import type { ServiceError } from "../errors.ts";
import { changeRecord } from "./change.ts";
import type { RecordDeps } from "./deps.ts";
import { type Asker, failedWith } from "./keyed_change.ts";
import type { GatewayRecord, Kind } from "./kind.ts";

/** Notes it, frees the key for another try, and hands the problem back to be thrown. */
export async function endUnknown<R extends GatewayRecord>(
  deps: RecordDeps,
  kind: Kind<R>,
  asker: Asker,
  record: R,
  problem: ServiceError,
  set: Partial<R> = {},
): Promise<ServiceError> {
  const now = new Date(deps.clock());
  const job = kind.checkJob(record, now);
  await changeRecord(deps, kind, record, () => ({
    // The sweep would find it, should the job be lost.
    set: { ...set, check_at: job.run_at },
    jobs: [job],
    key: failedWith(asker, problem, now),
  }));
  return problem;
}
