/** `process_charge_async`: a charge whose caller did not want to wait for it. */

import type { GatewayJob } from "../../db/jobs.ts";
import type { Caller } from "../auth/caller.ts";
import type { Outcome } from "../idempotency/attempt.ts";
import {
  acceptAsyncRequest,
  type AsyncRequest,
  type AsyncRequestDeps,
  asyncRequestTask,
  type DeferredRequest,
  NoLongerPossible,
} from "../jobs/async_requests.ts";
import type { JobView } from "../jobs/read.ts";
import type { Task } from "../jobs/task.ts";
import type { SecretBox } from "../secret_box.ts";
import { createCharge } from "./charge.ts";
import type { ChargeInput } from "./charge_input.ts";
import type { PaymentDeps } from "./deps.ts";
import type { PaymentView } from "./views.ts";

export const PROCESS_CHARGE_ASYNC = "process_charge_async";

export interface AsyncChargeDeps extends PaymentDeps {
  /** A card's token waits in it. */
  secrets: SecretBox;
}

export async function askForCharge(
  deps: AsyncRequestDeps & Pick<AsyncChargeDeps, "secrets">,
  caller: Caller,
  { token_id, ...input }: ChargeInput,
  request: Pick<AsyncRequest, "key" | "scope" | "bodyHash">,
): Promise<Outcome<JobView>> {
  return await acceptAsyncRequest(deps, caller, {
    ...request,
    task: PROCESS_CHARGE_ASYNC,
    input,
    secret: token_id === undefined ? undefined : (jobId) => deps.secrets.seal(token_id, jobId),
  });
}

export function createProcessChargeAsync(deps: AsyncChargeDeps): Task {
  return asyncRequestTask<ChargeInput>(deps, {
    answer: (asked, job) => processChargeAsync(deps, asked, job),
    resultOf: (payment) => ({ payment }),
  });
}

export async function processChargeAsync(
  deps: AsyncChargeDeps,
  { caller, input, attempt }: DeferredRequest<ChargeInput>,
  job: GatewayJob,
): Promise<PaymentView> {
  const token = tokenOf(deps, job);
  const whole = token === null ? input : { ...input, token_id: token };
  return (await createCharge(deps, caller, whole, attempt)).body;
}

/** Null: it needs none. */
function tokenOf({ secrets }: AsyncChargeDeps, { id, secret }: GatewayJob): string | null {
  if (secret === null) return null;
  const token = secrets.open(secret, id);
  if (token !== null) return token;
  throw new NoLongerPossible(
    "The card token can no longer be read: the gateway's server key was changed since.",
  );
}
