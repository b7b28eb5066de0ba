/** Payments as events, jobs and replies of earlier versions store them. */

interface StoredPayment {
  checkout_id?: string | null;
  payment_page_url?: string | null;
}

/** Those stored before there were checkouts lack two members that every payment has now. */
export function completePayment<T extends StoredPayment>(stored: T): T & Required<StoredPayment> {
  const { checkout_id = null, payment_page_url = null } = stored;
  return { ...stored, checkout_id, payment_page_url };
}
