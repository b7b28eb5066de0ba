/** `process_charge_async`: a charge whose caller did not want to wait for it. */

import type { GatewayJob } from "../../db/jobs.ts";
import type { Caller } from "../auth/caller.ts";
import type { Outcome } from "../idempotency/attempt.ts";
import { askAsync, type AskDeps, type AsyncRequest } from "../jobs/ask_async.ts";
import { type Asked, askedTask, NoLongerPossible } from "../jobs/run_asked.ts";
import type { Task } from "../jobs/task.ts";
import type { JobView } from "../jobs/views.ts";
import type { SecretBox } from "../secret_box.ts";
import { createCharge } from "./charge.ts";
import type { ChargeInput, CreditCardInput } from "./charge_input.ts";
import type { PaymentDeps } from "./deps.ts";
import type { PaymentView } from "./views.ts";

export const PROCESS_CHARGE_ASYNC = "process_charge_async";

export interface AsyncChargeDeps extends PaymentDeps {
  /** A card's token waits in it. */
  secrets: SecretBox;
}

/** A charge as its job stores it: the token of a card is kept apart, encrypted. */
type StoredCharge = Exclude<ChargeInput, CreditCardInput> | Omit<CreditCardInput, "token_id">;

export async function askForCharge(
  deps: AskDeps & Pick<AsyncChargeDeps, "secrets">,
  caller: Caller,
  input: ChargeInput,
  request: Pick<AsyncRequest, "key" | "scope" | "bodyHash">,
): Promise<Outcome<JobView>> {
  const job = { ...request, task: PROCESS_CHARGE_ASYNC };
  if (input.payment_type !== "credit_card") return await askAsync(deps, caller, { ...job, input });
  const { token_id, ...stored } = input;
  const secret = (jobId: string) => deps.secrets.seal(token_id, jobId);
  return await askAsync(deps, caller, { ...job, input: stored, secret });
}

export function createProcessChargeAsync(deps: AsyncChargeDeps): Task {
  return askedTask<StoredCharge>(deps, {
    answer: (asked, job) => processChargeAsync(deps, asked, job),
    resultOf: (payment) => ({ payment }),
  });
}

export async function processChargeAsync(
  deps: AsyncChargeDeps,
  { caller, input, attempt }: Asked<StoredCharge>,
  job: GatewayJob,
): Promise<PaymentView> {
  return (await createCharge(deps, caller, withToken(deps, input, job), attempt)).body;
}

function withToken(
  { secrets }: AsyncChargeDeps,
  input: StoredCharge,
  { id, secret }: GatewayJob,
): ChargeInput {
  if (input.payment_type !== "credit_card") return input;
  const token_id = secret && secrets.open(secret, id);
  if (token_id) return { ...input, token_id };
  throw new NoLongerPossible(
    "The card token can no longer be read: the gateway's server key was changed since.",
  );
}
