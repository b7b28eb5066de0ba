/** `expirePayment`: ends the wait for a customer. */

import type { Caller } from "../auth/caller.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import { act } from "./act.ts";
import type { PaymentDeps } from "./deps.ts";
import { invalidState } from "./problems.ts";
import type { PaymentView } from "./views.ts";

export async function expirePayment(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
  attempt: KeyedAttempt | null,
): Promise<Outcome<PaymentView>> {
  return await act(deps, caller, id, attempt, () => ({
    source: "expire",
    check(payment) {
      if (payment.transaction_status === "pending") return;
      throw invalidState(payment, "Only a pending payment can be expired.");
    },
    call: ({ transaction_id }) =>
      deps.gateway.expire(transaction_id!, { idempotencyKey: `${id}:exp` }),
    isDone: (_, { body }) => body.transaction_status === "expire",
    isIn: ({ transaction_status }) => transaction_status === "expire",
  }));
}
