/** Ends a request whose end at the gateway nobody knows: a job will find out. */

import type { GatewayPayment } from "../../db/payments.ts";
import type { ServiceError } from "../errors.ts";
import { changePayment } from "./change.ts";
import { checkJob } from "./check_job.ts";
import type { PaymentDeps } from "./deps.ts";
import { type Asker, failedWith } from "./keyed_change.ts";

/** Notes it, frees the key for another try, and hands the problem back to be thrown. */
export async function endUnknown(
  deps: PaymentDeps,
  asker: Asker,
  payment: GatewayPayment,
  problem: ServiceError,
): Promise<ServiceError> {
  const now = new Date(deps.clock());
  const job = checkJob(payment, now);
  await changePayment(deps, payment, () => ({
    // The sweep would find it, should the job be lost.
    set: { check_at: job.run_at },
    jobs: [job],
    key: failedWith(asker, problem, now),
  }));
  return problem;
}
