/** `process_refund_async`: makes a refund that was requested asynchronously. */

import type { Caller } from "../auth/caller.ts";
import type { RequestResult } from "../idempotency/keys.ts";
import {
  acceptAsyncRequest,
  type AsyncRequest,
  asyncRequestTask,
  type DeferredRequest,
} from "../jobs/async_requests.ts";
import type { JobView } from "../jobs/read.ts";
import type { Task } from "../jobs/task.ts";
import { findOwn } from "../records/read.ts";
import type { Service } from "../service.ts";
import { paymentKind } from "./payment_record.ts";
import { type RefundedPayment, type RefundInput, refundPayment } from "./refund.ts";

export const PROCESS_REFUND_ASYNC = "process_refund_async";

interface StoredRefund extends RefundInput {
  payment_id: string;
}

/** The owner is checked now; the payment's state is checked when the job runs. */
export async function enqueueRefund(
  service: Service,
  caller: Caller,
  paymentId: string,
  input: RefundInput,
  request: Pick<AsyncRequest, "key" | "scope" | "bodyHash">,
): Promise<RequestResult<JobView>> {
  await findOwn(service, paymentKind, caller, paymentId);
  const stored: StoredRefund = { ...input, payment_id: paymentId };
  return await acceptAsyncRequest(service, caller, {
    ...request,
    task: PROCESS_REFUND_ASYNC,
    input: stored,
  });
}

export function createProcessRefundAsync(service: Service): Task {
  return asyncRequestTask<StoredRefund>(service, {
    run: (request) => processRefundAsync(service, request),
    resultOf: (refunded) => refunded,
  });
}

export async function processRefundAsync(
  service: Service,
  { caller, input: { payment_id, ...input }, requestKey }: DeferredRequest<StoredRefund>,
): Promise<RefundedPayment> {
  return (await refundPayment(service, { caller, id: payment_id, requestKey }, input)).body;
}
