/** `process_charge_async`: makes a charge that was requested asynchronously. */

import type { GatewayJob } from "../../db/jobs.ts";
import type { Caller } from "../auth/caller.ts";
import type { RequestResult } from "../idempotency/keys.ts";
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
import type { PaymentDeps } from "./payment_record.ts";
import type { PaymentView } from "./views.ts";

export const PROCESS_CHARGE_ASYNC = "process_charge_async";

export interface AsyncChargeDeps extends PaymentDeps {
  /** Encrypts the card token while the job waits. */
  secrets: SecretBox;
}

export async function askForCharge(
  deps: AsyncRequestDeps & Pick<AsyncChargeDeps, "secrets">,
  caller: Caller,
  { token_id, ...input }: ChargeInput,
  request: Pick<AsyncRequest, "key" | "scope" | "bodyHash">,
): Promise<RequestResult<JobView>> {
  return await acceptAsyncRequest(deps, caller, {
    ...request,
    task: PROCESS_CHARGE_ASYNC,
    input,
    secret: token_id === undefined ? undefined : (jobId) => deps.secrets.seal(token_id, jobId),
  });
}

export function createProcessChargeAsync(deps: AsyncChargeDeps): Task {
  return asyncRequestTask<ChargeInput>(deps, {
    answer: (request, job) => processChargeAsync(deps, request, job),
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

/** Null: the charge has no card token. */
function tokenOf({ secrets }: AsyncChargeDeps, { id, secret }: GatewayJob): string | null {
  if (secret === null) return null;
  const token = secrets.open(secret, id);
  if (token !== null) return token;
  throw new NoLongerPossible(
    "The card token can no longer be decrypted, because the gateway server key has changed.",
  );
}
