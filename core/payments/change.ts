/** The one way a payment is written. */

import type { GatewayPayment } from "../../db/payments.ts";
import type { PaymentEventName } from "../events/names.ts";
import { changeRecord } from "../records/change.ts";
import type * as records from "../records/kind.ts";
import type { PaymentDeps } from "./deps.ts";
import { paymentKind } from "./kind.ts";
import type { State } from "./states.ts";

/** Set by a transition alone. */
type StateMember = "transaction_status" | "fraud_status" | "event_count";

/** Nobody's to set. */
type FixedMember = "id" | "version" | "created_at" | "updated_at" | "items" | "refunds";

export interface Change extends Omit<records.Change<GatewayPayment>, "charges" | "told"> {
  set?: Partial<Omit<GatewayPayment, StateMember | FixedMember>>;
  transition?: records.Transition & { to: State; events: PaymentEventName[] };
}

export async function changePayment(
  deps: PaymentDeps,
  known: GatewayPayment,
  decide: (current: GatewayPayment) => Change | null,
): Promise<GatewayPayment> {
  return await changeRecord(deps, paymentKind, known, decide);
}
