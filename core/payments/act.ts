/** What cancel, expire, capture, approve and deny have in common: one call that moves a payment on. */

import type { GatewayPayment } from "../../db/payments.ts";
import type { Caller } from "../auth/caller.ts";
import type { GatewayResponse, Transaction } from "../gateway/responses.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import * as records from "../records/act.ts";
import type { PaymentDeps } from "./deps.ts";
import { refreshed, transactionOf } from "./find_transaction.ts";
import { hear, type Source } from "./gate.ts";
import { paymentKind } from "./kind.ts";
import { isAbout } from "./recognize.ts";
import type { PaymentView } from "./views.ts";

export interface Action {
  source: Source;
  /** Throws where the payment's state does not allow it. */
  check(payment: GatewayPayment): void;
  /** The payment's transaction is known. */
  call(payment: GatewayPayment): Promise<GatewayResponse<Transaction>>;
  /** Whether the gateway did what it was asked; throws where it says no. */
  isDone(payment: GatewayPayment, answer: GatewayResponse<Transaction>): boolean | Promise<boolean>;
  /** Whether a payment already is what the action would make of it. */
  isIn(payment: GatewayPayment): boolean;
}

export async function act(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
  attempt: KeyedAttempt | null,
  drawUp: (payment: GatewayPayment) => Action,
): Promise<Outcome<PaymentView>> {
  return await records.act<GatewayPayment, Transaction, PaymentView>(
    deps,
    paymentKind,
    caller,
    id,
    attempt,
    (payment) => {
      const { source, isDone, ...action } = drawUp(payment);
      return {
        ...action,
        ready: (known) => transactionOf(deps, known, source),
        async take(marked, answer, key) {
          if (!isAbout(marked, answer.body) || !await isDone(marked, answer)) return null;
          const heard = await hear(deps, marked, {
            answer: answer.body,
            source,
            askedAt: null,
            key,
          });
          return heard.payment;
        },
        isStateRefusal: ({ statusCode }) => statusCode === "412",
        refresh: (known, outcome) => refreshed(deps, known, source, outcome),
      };
    },
  );
}
