/** Merges the stored refunds of a payment with those that the gateway lists. */

import type { GatewayPayment, GatewayRefund } from "../../db/payments/payments.ts";
import { PENDING_AT_BANK } from "../../db/payments/refunds.ts";
import { newId } from "../ids.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import type { ListedRefund } from "./transaction.ts";

/** A stored refund that the gateway has just accepted, even if the gateway does not list it yet. */
export type AcceptedRefund = Pick<GatewayRefund, "id" | "status_code" | "status_message">;

export interface MergedRefunds {
  all: GatewayRefund[];
  /** The new and the changed refunds. */
  changed: GatewayRefund[];
}

export interface RefundMerge extends MergedRefunds {
  /** For a stale or unrecognized report: changes only the accepted refund. */
  acceptedOnly: MergedRefunds;
}

/** What the gateway reports about the refunds of a payment. */
export interface ReportedRefunds {
  listed: ListedRefund[];
  /** A refund that the bank has refused after the gateway had accepted it. */
  deniedKey: string | null;
  acceptedRefund: AcceptedRefund | undefined;
}

/**
 * Sets stored refunds to `succeeded` if the gateway lists them or has just accepted them, adds
 * refunds made elsewhere, and ends the refunds that the bank can no longer make.
 */
export function mergeRefunds(
  current: GatewayPayment,
  { listed, deniedKey, acceptedRefund }: ReportedRefunds,
  now: Date,
): RefundMerge {
  const byKey = new Map(current.refunds.map((refund) => [refund.refund_key, refund]));
  const changed = new Map<string, GatewayRefund>();
  function succeed(refund: Omit<GatewayRefund, "status" | "updated_at">) {
    const made: GatewayRefund = { ...refund, status: "succeeded", updated_at: now };
    byKey.set(made.refund_key, made);
    changed.set(made.refund_key, made);
  }
  const accepted = current.refunds.find(({ id }) => id === acceptedRefund?.id);
  if (accepted && accepted.status !== "succeeded") succeed({ ...accepted, ...acceptedRefund });
  for (const { refund_key, ...made } of listed) {
    if (refund_key === null) continue;
    const known = byKey.get(refund_key);
    if (known?.status === "succeeded") continue;
    succeed(
      known ?? {
        ...made,
        refund_key,
        id: newId(now),
        payment_id: current.id,
        user_id: current.user_id,
        created_by: null,
        status_code: null,
        status_message: null,
        created_at: made.created_at ?? now,
      },
    );
  }
  const isFullyRefunded = sumByStatus([...byKey.values()], "succeeded") >=
    (current.captured_amount ?? current.gross_amount);
  for (const refund of [...byKey.values()].filter(isPendingAtBank)) {
    if (refund.refund_key !== deniedKey && !isFullyRefunded) continue;
    const status_message = refund.refund_key === deniedKey
      ? "The bank refused the refund"
      : "The full amount was refunded without this refund";
    const denied: GatewayRefund = { ...refund, status: "denied", status_message, updated_at: now };
    byKey.set(denied.refund_key, denied);
    changed.set(denied.refund_key, denied);
  }
  const acceptedChanges = [...changed.values()].filter(({ id }) => id === acceptedRefund?.id);
  const byId = new Map([...current.refunds, ...acceptedChanges].map((each) => [each.id, each]));
  return {
    all: [...byKey.values()],
    changed: [...changed.values()],
    acceptedOnly: { all: [...byId.values()], changed: acceptedChanges },
  };
}

/** Whether the bank still has to make an accepted refund, which must not be sent again. */
export function isPendingAtBank(
  { status, status_code }: Pick<GatewayRefund, "status" | "status_code">,
): boolean {
  return status === "pending" && status_code === PENDING_AT_BANK;
}

/** Whether it is unknown if the gateway has accepted the refund. */
export function isUnansweredRefund(refund: GatewayRefund): boolean {
  return refund.status === "pending" && !isPendingAtBank(refund);
}

/** The change of a payment whose pending refund ends without being made. */
export function withoutReservation(
  { refunds }: GatewayPayment,
  { id }: GatewayRefund,
): Pick<GatewayPayment, "reserved_amount"> {
  return { reserved_amount: sumByStatus(refunds.filter((each) => each.id !== id), "pending") };
}

/**
 * From this time on, the request that created the refund no longer sends it: the task
 * `check_payment_status` does.
 */
export function requestEnd({ updated_at }: GatewayRefund): Date {
  return new Date(updated_at.getTime() + UNANSWERED_CHECK_MS);
}

export function sumByStatus(refunds: GatewayRefund[], status: GatewayRefund["status"]): number {
  return sumAmounts(refunds.filter((refund) => refund.status === status));
}

export function sumAmounts(refunds: Pick<GatewayRefund, "amount">[]): number {
  return refunds.reduce((sum, { amount }) => sum + amount, 0);
}
