/** `markRefundDenied`: ends a refund that the bank refused after the gateway had accepted it. */

import { findRefund } from "../../db/payments/refunds.ts";
import type { GatewayPayment, GatewayRefund } from "../../db/payments/payments.ts";
import { requireStaff } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import type { RequestResult } from "../idempotency/keys.ts";
import { type ActionRequest, beginAction, endWithError, requireAsShown } from "../records/act.ts";
import { keyWithReply } from "../records/keyed_request.ts";
import { actAs } from "../records/record.ts";
import type { Service } from "../service.ts";
import { checkForAction } from "./check_at_gateway.ts";
import { isPendingAtBank, withoutReservation } from "./merge_refunds.ts";
import { changePayment, invalidState, paymentKind } from "./payment_record.ts";
import { type RefundDetailsView, viewRefundDetails } from "./views.ts";

const MARKED = "Marked as refused by the bank";

/**
 * The gateway does not report such a refusal, so the refund would stay `pending` and its amount
 * reserved. Staff who know of the refusal end it. The payment is checked at the gateway first: a
 * refund that the gateway lists has succeeded.
 */
export async function markRefundDenied(
  service: Service,
  { id: refundId, ...request }: ActionRequest,
): Promise<RequestResult<RefundDetailsView>> {
  const { caller } = request;
  requireStaff(caller);
  const asCaller = actAs(service, caller);
  const known = await asCaller.database.query(
    (sql) => findRefund(sql, refundId, null),
    "find refund",
  );
  if (!known) throw new ServiceError("not_found");
  const begun = await beginAction(asCaller, paymentKind, { ...request, id: known.payment_id });
  if (begun.type === "replay") {
    // A reply of an earlier version has no name.
    const { created_by_name } = known;
    return { body: { ...begun.body as RefundDetailsView, created_by_name }, isReplayed: true };
  }
  const { record } = begun;
  const view = (payment: GatewayPayment) =>
    viewRefundDetails(caller, { ...known, ...refundOf(payment, refundId) });
  try {
    const checked = await checkForAction(asCaller, record, "refund", "refused");
    const payment = await changePayment(asCaller, checked, (current) => {
      const now = new Date(asCaller.clock());
      const key = keyWithReply(begun.request, view);
      const refund = refundOf(current, refundId);
      if (refund.status === "denied") return key && { key };
      requireAsShown(paymentKind, request, current);
      if (!isPendingAtBank(refund)) throw notAtBank(current, refund);
      const denied: GatewayRefund = {
        ...refund,
        status: "denied",
        status_message: MARKED,
        updated_at: now,
      };
      return { set: withoutReservation(current, denied), refunds: [denied], key };
    });
    return { body: view(payment), isReplayed: false };
  } catch (error) {
    throw await endWithError(asCaller, paymentKind, begun.request, record, error);
  }
}

function refundOf({ refunds }: GatewayPayment, id: string): GatewayRefund {
  const refund = refunds.find((each) => each.id === id);
  if (!refund) throw new Error(`The payment has no refund ${id}`);
  return refund;
}

function notAtBank(payment: GatewayPayment, { status }: GatewayRefund): ServiceError {
  return invalidState(
    payment,
    status === "pending"
      ? "The gateway has not answered this refund yet. The service asks again by itself."
      : `This refund is ${status}. Only a refund that waits at the bank can be marked as refused.`,
  );
}
