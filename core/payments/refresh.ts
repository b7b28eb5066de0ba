/** Asks the gateway how a payment stands, and takes its answer over. */

import type { GatewayNotification } from "../../db/notifications.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import { GatewayAPIError, isTransactionNotFound } from "../gateway/errors.ts";
import type { JsonObject } from "../gateway/json.ts";
import type { GatewayResponse, Transaction } from "../gateway/responses.ts";
import { look } from "../records/look.ts";
import type { PaymentDeps } from "./deps.ts";
import { findByOrder } from "./find_by_order.ts";
import { hear, type Heard, type Source } from "./gate.ts";
import { isAbout } from "./recognize.ts";

export interface Refreshed {
  payment: GatewayPayment;
  /**
   * What the gateway said, word for word, its signature included; null where there is nothing of this
   * payment's to be said.
   */
  raw: JsonObject | null;
  /** False: the gateway knows no transaction that is this payment. */
  isKnown: boolean;
  /** What its words led to; null where there were none. */
  heard: Heard | null;
}

/** Throws a `GatewayError` where there is no answer that says anything. */
export async function refresh(
  deps: PaymentDeps,
  known: GatewayPayment,
  source: Source,
  notification?: GatewayNotification,
): Promise<Refreshed> {
  // There is nothing that the gateway could know of.
  if (known.is_refused) return nothingKnown(known);
  const { record: payment, answer, heard } = await look(
    known,
    (payment) => ask(deps, payment),
    async (payment, answer) => {
      if (!answer) return { record: payment, isOvertaken: false, heard: null };
      const hearing = { answer: answer.body, source, askedAt: payment.version, notification };
      const heard = await hear(deps, payment, hearing);
      const isOvertaken = heard.step === "stale" && heard.payment.version !== payment.version;
      return { record: heard.payment, isOvertaken, heard };
    },
  );
  return answer ? { payment, raw: answer.raw, isKnown: true, heard } : nothingKnown(payment);
}

function nothingKnown(payment: GatewayPayment): Refreshed {
  return { payment, raw: null, isKnown: false, heard: null };
}

/** Null: the gateway knows nothing of it. */
async function ask(
  deps: PaymentDeps,
  payment: GatewayPayment,
): Promise<GatewayResponse<Transaction> | null> {
  if (payment.transaction_id !== null) return await askById(deps, payment, payment.transaction_id);
  const found = await findByOrder(deps, payment);
  return found.whose === "ours" ? found.answer : null;
}

async function askById(
  { gateway, log }: PaymentDeps,
  payment: GatewayPayment,
  transactionId: string,
): Promise<GatewayResponse<Transaction>> {
  const alert = (event: string, error: Error) =>
    log.error(event, error, { payment_id: payment.id });
  try {
    const answer = await gateway.getStatus(transactionId);
    if (isAbout(payment, answer.body)) return answer;
    const error = new GatewayAPIError("The gateway's answer is not about this transaction", {
      failure: "answered",
      outcome: "unknown",
      statusCode: answer.statusCode,
    });
    alert("other_transaction", error);
    throw error;
  } catch (error) {
    // A wrong key, or a sandbox that began anew: no reason to take it for failed.
    if (isTransactionNotFound(error)) alert("transaction_unknown_to_gateway", error);
    throw error;
  }
}
