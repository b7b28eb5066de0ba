/** `approvePayment` and `denyPayment`: the merchant's word on a payment that fraud detection doubts. */

import type { GatewayPayment } from "../../db/payments.ts";
import type { Caller } from "../auth/caller.ts";
import type { Outcome } from "../idempotency/attempt.ts";
import { act } from "./act.ts";
import type { PaymentDeps } from "./deps.ts";
import { invalidState } from "./problems.ts";
import type { PaymentView } from "./views.ts";

export async function approvePayment(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
): Promise<Outcome<PaymentView>> {
  return await act(deps, caller, id, null, () => ({
    source: "approve",
    check: checkChallenged,
    call: ({ transaction_id }) =>
      deps.gateway.approve(transaction_id!, { idempotencyKey: `${id}:app` }),
    isDone: (_, { body }) => body.fraud_status === "accept",
    isIn: ({ fraud_status }) => fraud_status === "accept",
  }));
}

export async function denyPayment(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
): Promise<Outcome<PaymentView>> {
  return await act(deps, caller, id, null, () => ({
    source: "deny",
    check: checkChallenged,
    call: ({ transaction_id }) =>
      deps.gateway.deny(transaction_id!, { idempotencyKey: `${id}:den` }),
    isDone: (_, { body }) => body.transaction_status === "deny",
    isIn: ({ transaction_status }) => transaction_status === "deny",
  }));
}

function checkChallenged(payment: GatewayPayment): void {
  const isOpen = ["capture", "authorize"].includes(payment.transaction_status);
  if (isOpen && payment.fraud_status === "challenge") return;
  throw invalidState(payment, "Only a challenged payment can be reviewed.");
}
