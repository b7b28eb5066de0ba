/** `getStatus`: a payment as the gateway sees it now, together with its very words. */

import type { Caller } from "../auth/caller.ts";
import type { PaymentDeps } from "./deps.ts";
import { problems } from "./problems.ts";
import { findOwn } from "./read.ts";
import { refresh } from "./refresh.ts";
import { type PaymentView, viewPayment } from "./views.ts";

export interface CheckedStatus {
  payment: PaymentView;
  /** Null where the gateway has nothing to say of it. */
  gateway_response: Record<string, unknown> | null;
}

export async function getStatus(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
): Promise<CheckedStatus> {
  const known = await findOwn(deps, caller, id);
  const { payment, raw } = await problems.asking(
    known,
    "refused",
    () => refresh(deps, known, "check_status"),
  );
  return { payment: viewPayment(payment), gateway_response: raw && withoutSignature(raw) };
}

/** Whoever has it could sign a notification with it. */
function withoutSignature({ signature_key: _, ...rest }: Record<string, unknown>) {
  return rest;
}
