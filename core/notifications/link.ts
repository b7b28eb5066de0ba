/** Finds out whose a transaction is that was made outside of the service. */

import { validate as isUuid } from "uuid";
import { findSubscription } from "../../db/subscriptions.ts";
import type { Transaction } from "../gateway/answers.ts";
import { findInvoiceOf, linkTo } from "../invoices/link.ts";
import type { PaymentDeps } from "../payments/deps.ts";
import type { Link } from "../payments/gate.ts";

/** By what the gateway itself says of it. Null: it is nobody's here. */
export async function linkOf(deps: PaymentDeps, answer: Transaction): Promise<Link | null> {
  const invoice = await findInvoiceOf(deps, answer);
  if (invoice) return linkTo(invoice);
  const ref = answer.metadata?.subscription_ref;
  if (typeof ref !== "string" || !isUuid(ref)) return null;
  const subscription = await deps.database.query(
    (sql) => findSubscription(sql, ref),
    "find subscription",
  );
  // Only what we sent ourselves can have our id in it: no caller may.
  return subscription &&
    { user_id: subscription.user_id, invoice_id: null, subscription_id: subscription.id };
}
