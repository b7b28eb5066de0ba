/** Payments as events, jobs and replies of earlier versions store them. */

interface StoredPayment {
  checkout_id?: string | null;
  payment_page_url?: string | null;
  no_refund_reason?: string | null;
  card?: object | null;
  fee_amount?: string | null;
  payout_amount?: string | null;
}

/** Adds the members that every payment has now, and that earlier versions did not have. */
export function completePayment<T extends StoredPayment>(stored: T): T & Required<StoredPayment> {
  const { checkout_id = null, payment_page_url = null, no_refund_reason = null } = stored;
  const { card = null, fee_amount = null, payout_amount = null } = stored;
  const added = {
    checkout_id,
    payment_page_url,
    no_refund_reason,
    card,
    fee_amount,
    payout_amount,
  };
  return { ...stored, ...added };
}
