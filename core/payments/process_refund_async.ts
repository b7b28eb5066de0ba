/** `process_refund_async`: a refund whose caller did not want to wait for it. */

import type { Caller } from "../auth/caller.ts";
import type { Outcome } from "../idempotency/attempt.ts";
import {
  acceptAsyncRequest,
  type AsyncRequest,
  asyncRequestTask,
  type DeferredRequest,
} from "../jobs/async_requests.ts";
import type { JobView } from "../jobs/read.ts";
import type { Task } from "../jobs/task.ts";
import type { PaymentDeps } from "./deps.ts";
import { findOwn } from "./read.ts";
import { type RefundInput, refundPayment } from "./refund.ts";
import type { RefundedPayment } from "./send_refund.ts";

export const PROCESS_REFUND_ASYNC = "process_refund_async";

interface AskedRefund extends RefundInput {
  payment_id: string;
}

/** Whose payment it is counts at once, its state only when the refund's turn has come. */
export async function askForRefund(
  deps: PaymentDeps,
  caller: Caller,
  paymentId: string,
  input: RefundInput,
  request: Pick<AsyncRequest, "key" | "scope" | "bodyHash">,
): Promise<Outcome<JobView>> {
  await findOwn(deps, caller, paymentId);
  const asked: AskedRefund = { ...input, payment_id: paymentId };
  return await acceptAsyncRequest(deps, caller, {
    ...request,
    task: PROCESS_REFUND_ASYNC,
    input: asked,
  });
}

export function createProcessRefundAsync(deps: PaymentDeps): Task {
  return asyncRequestTask<AskedRefund>(deps, {
    answer: (asked) => processRefundAsync(deps, asked),
    resultOf: (refunded) => refunded,
  });
}

export async function processRefundAsync(
  deps: PaymentDeps,
  { caller, input: { payment_id, ...input }, attempt }: DeferredRequest<AskedRefund>,
): Promise<RefundedPayment> {
  return (await refundPayment(deps, caller, payment_id, input, attempt)).body;
}
