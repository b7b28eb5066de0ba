/** `cancelPayment`: takes a payment back that is not final. */

import type { Caller } from "../auth/caller.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import { act } from "./act.ts";
import type { PaymentDeps } from "./deps.ts";
import { invalidState } from "./problems.ts";
import { canCancel } from "./states.ts";
import type { PaymentView } from "./views.ts";

export async function cancelPayment(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
  attempt: KeyedAttempt | null,
): Promise<Outcome<PaymentView>> {
  return await act(deps, caller, id, attempt, () => ({
    source: "cancel",
    check(payment) {
      if (canCancel(payment.transaction_status)) return;
      throw invalidState(
        payment,
        `A payment in ${payment.transaction_status} cannot be cancelled.`,
      );
    },
    call: ({ transaction_id }) =>
      deps.gateway.cancel(transaction_id!, { idempotencyKey: `${id}:can` }),
    isDone: (_, { body }) => body.transaction_status === "cancel",
    isIn: ({ transaction_status }) => transaction_status === "cancel",
  }));
}
