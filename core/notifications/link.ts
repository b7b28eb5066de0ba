/** Finds out whose a transaction is that was made outside of the service. */

import { validate as isUuid } from "uuid";
import { findSubscription } from "../../db/subscriptions.ts";
import type { Transaction } from "../gateway/responses.ts";
import * as invoices from "../invoices/link.ts";
import type { PaymentDeps } from "../payments/deps.ts";
import type { Link } from "../payments/gate.ts";
import * as subscriptions from "../subscriptions/link.ts";

/** By what the gateway itself says of it. Null: it is nobody's here. */
export async function linkOf(deps: PaymentDeps, answer: Transaction): Promise<Link | null> {
  const ref = answer.metadata?.subscription_ref;
  // Only what we sent ourselves can have our id in it: no caller may.
  const subscription = typeof ref === "string" && isUuid(ref)
    ? await deps.database.query((sql) => findSubscription(sql, ref), "find subscription")
    : null;
  if (subscription) return subscriptions.linkTo(subscription);
  const invoice = await invoices.findInvoiceOf(deps, answer);
  return invoice && invoices.linkTo(invoice);
}
