/** Takes over a transaction that was made outside of the service: by a link, or by a subscription. */

import { batched } from "../../db/batched.ts";
import { paymentLookups } from "../../db/payment_statements.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import type { Transaction } from "../gateway/answers.ts";
import type { PaymentDeps } from "./deps.ts";
import { adopt, hear, type Heard, type Hearing, type Link, linkPayment } from "./gate.ts";
import { amountOf } from "./gateway_word.ts";
import { refresh } from "./refresh.ts";
import { isStatus } from "./states.ts";

/** Whether an answer says enough to make a payment of. */
export function canBeTakenOver(answer: Transaction): boolean {
  return answer.order_id !== null && answer.transaction_id !== null &&
    isStatus(answer.transaction_status) && (amountOf(answer) ?? NaN) > 0;
}

/** As a payment of its own, be it new or known; `link` says whose. */
export async function takeOver(
  deps: PaymentDeps,
  hearing: Omit<Hearing, "askedAt">,
  link: Link | null,
): Promise<Heard> {
  const { order_id, transaction_id } = hearing.answer;
  const adopted = await adopt(deps, { ...hearing, askedAt: null }, link);
  if (adopted) return { payment: adopted, step: "forward", isNoted: true, isDoubted: false };
  // It has a payment already, or somebody else was quicker.
  const told = { order_id: order_id!, transaction_id, payment_ref: null };
  const known = await batched(deps.database, paymentLookups, told);
  if (!known) throw new Error(`The transaction of order ${order_id} is gone`);
  const heard = await hearOf(deps, known, hearing);
  return link ? { ...heard, payment: await linkPayment(deps, heard.payment, link) } : heard;
}

/** One that was over here may have been paid after all: only an answer of its own can say so. */
async function hearOf(
  deps: PaymentDeps,
  known: GatewayPayment,
  hearing: Omit<Hearing, "askedAt">,
): Promise<Heard> {
  const heard = await hear(deps, known, { ...hearing, askedAt: null });
  if (heard.step !== "stale") return heard;
  const { source, notification } = hearing;
  return (await refresh(deps, heard.payment, source, notification)).heard ?? heard;
}
