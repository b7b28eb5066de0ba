/** `capturePayment`: takes what a card payment holds, all of it or a part. */

import type { GatewayPayment } from "../../db/payments.ts";
import type { Caller } from "../auth/caller.ts";
import type { ServiceError } from "../errors.ts";
import { type GatewayResponse, isDenied, type Transaction } from "../gateway/responses.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import { parseMoney } from "../money.ts";
import { act } from "./act.ts";
import { changePayment } from "./change.ts";
import type { PaymentDeps } from "./deps.ts";
import { invalidState, problemAbout } from "./problems.ts";
import { tooMuch } from "./too_much.ts";
import { type PaymentView, viewPayment } from "./views.ts";

export interface CaptureInput {
  /** All of it where left out. */
  amount?: number;
}

export async function capturePayment(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
  { amount }: CaptureInput,
  attempt: KeyedAttempt | null,
): Promise<Outcome<PaymentView>> {
  return await act(deps, caller, id, attempt, ({ gross_amount }) => {
    const wanted = amount ?? gross_amount;
    return {
      source: "capture",
      check(payment) {
        if (payment.payment_type !== "credit_card" || payment.transaction_status !== "authorize") {
          throw invalidState(payment, "Only an authorized card payment can be captured.");
        }
        if (wanted > gross_amount) throw tooMuch(payment, gross_amount);
      },
      call: ({ transaction_id, denied_captures }) =>
        deps.gateway.capture(transaction_id!, wanted, {
          idempotencyKey: captureKey(id, denied_captures),
        }),
      async isDone(payment, answer) {
        if (isDenied(answer)) throw await captureDenied(deps, payment, answer);
        return answer.body.transaction_status === "capture" &&
          parseMoney(answer.body.gross_amount) === wanted;
      },
      isIn: ({ captured_amount }) => captured_amount === wanted,
    };
  });
}

/** The gateway would answer the same key with the same refusal; after one it is another attempt. */
function captureKey(id: string, denied: number): string {
  return `${id}:cap${denied === 0 ? "" : denied + 1}`;
}

/** The hold stays as it is: it can be tried again, or cancelled. */
async function captureDenied(
  deps: PaymentDeps,
  known: GatewayPayment,
  { body }: GatewayResponse<Transaction>,
): Promise<ServiceError> {
  const payment = await changePayment(deps, known, ({ denied_captures }) => ({
    set: { denied_captures: denied_captures + 1 },
  }));
  return problemAbout("capture_denied", payment, "refused", {
    detail: body.status_message ?? undefined,
    members: { payment: viewPayment(payment) },
  });
}
