/** `process_charge_async`: makes a charge that was requested asynchronously. */

import type { GatewayJob } from "../../db/jobs/jobs.ts";
import type { Caller } from "../auth/caller.ts";
import { requireOrderPrefix } from "../auth/order_prefix.ts";
import type { RequestResult } from "../idempotency/keys.ts";
import {
  acceptAsyncRequest,
  type AsyncRequest,
  asyncRequestTask,
  type DeferredRequest,
  NoLongerPossible,
} from "../jobs/async_requests.ts";
import type { JobView } from "../jobs/read.ts";
import type { Task } from "../jobs/task.ts";
import type { Service } from "../service.ts";
import { createCharge } from "./charge.ts";
import type { ChargeInput, CreditCardInput } from "./charge_input.ts";
import type { PaymentView } from "./views.ts";

export const PROCESS_CHARGE_ASYNC = "process_charge_async";

/** A charge as its job stores it: the card token is stored separately, encrypted. */
type StoredCharge = Exclude<ChargeInput, CreditCardInput> | Omit<CreditCardInput, "token_id">;

export async function enqueueCharge(
  service: Service & Pick<Service, "secrets">,
  caller: Caller,
  input: ChargeInput,
  request: Pick<AsyncRequest, "key" | "scope" | "bodyHash">,
): Promise<RequestResult<JobView>> {
  requireOrderPrefix(caller, input);
  const job = { ...request, task: PROCESS_CHARGE_ASYNC };
  if (input.payment_type !== "credit_card") {
    return await acceptAsyncRequest(service, caller, { ...job, input });
  }
  const { token_id, ...stored } = input;
  const secret = (jobId: string) => service.secrets.seal(token_id, jobId);
  return await acceptAsyncRequest(service, caller, { ...job, input: stored, secret });
}

export function createProcessChargeAsync(service: Service): Task {
  return asyncRequestTask<StoredCharge>(service, {
    run: (request, job) => processChargeAsync(service, request, job),
    resultOf: (payment) => ({ payment }),
  });
}

export async function processChargeAsync(
  service: Service,
  { caller, input, requestKey }: DeferredRequest<StoredCharge>,
  job: GatewayJob,
): Promise<PaymentView> {
  return (await createCharge(service, caller, withToken(service, input, job), requestKey)).body;
}

function withToken(
  { secrets }: Service,
  input: StoredCharge,
  { id, secret }: GatewayJob,
): ChargeInput {
  if (input.payment_type !== "credit_card") return input;
  const token_id = secret && secrets.open(secret, id);
  if (token_id) return { ...input, token_id };
  throw new NoLongerPossible(
    "The card token can no longer be decrypted, because the gateway server key has changed.",
  );
}
