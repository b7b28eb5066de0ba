/**
 * Statuses of the gateway that the service does not know. A payment keeps its last known status, and
 * is checked again until the gateway reports a status that the service knows.
 */

import type { GatewayPayment } from "../../db/payments.ts";
import { toStorableText } from "../gateway/json.ts";
import type { Step } from "./states.ts";
import type { ReportedTransaction } from "./transaction.ts";

/** Longer than every status of the gateway. */
const MAX_LENGTH = 50;

/**
 * The members that change. With an unrecognized status, the transaction id is stored too, so that later
 * checks find the transaction. A report of a known status clears the unrecognized status if the report
 * was applied or is the latest one (`isDecisive`).
 */
export function unrecognizedMembers(
  { transaction_id, unrecognized_status }: GatewayPayment,
  { id, status }: ReportedTransaction,
  step: Step,
  isDecisive: boolean,
): Partial<Pick<GatewayPayment, "transaction_id" | "unrecognized_status">> {
  if (step === "unrecognized") {
    const text = toStorableText(status!.slice(0, MAX_LENGTH));
    return text === unrecognized_status
      ? {}
      : { unrecognized_status: text, transaction_id: transaction_id ?? id };
  }
  return isDecisive && unrecognized_status !== null ? { unrecognized_status: null } : {};
}

/** For the log and for the notification that reported the status. */
export function describeUnrecognized({ unrecognized_status }: GatewayPayment): string {
  return `The gateway reports the status "${unrecognized_status}", which the service does not ` +
    "know. The payment keeps its status and is checked again.";
}
