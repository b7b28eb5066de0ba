/** `voidInvoice`: takes an invoice back that was not paid. */

import type { GatewayInvoice } from "../../db/invoices.ts";
import type { Caller } from "../auth/caller.ts";
import type { Voided } from "../gateway/responses.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import { act } from "../records/act.ts";
import type { RecordDeps } from "../records/deps.ts";
import { hearVoided } from "./gate.ts";
import { invoiceKind } from "./kind.ts";
import { problems } from "./problems.ts";
import { refreshInvoice } from "./refresh.ts";
import { VOIDABLE } from "./states.ts";
import type { InvoiceView } from "./views.ts";

export async function voidInvoice(
  deps: RecordDeps,
  caller: Caller,
  id: string,
  reason: string | undefined,
  attempt: KeyedAttempt | null,
): Promise<Outcome<InvoiceView>> {
  const { asking, invalidState } = problems;
  return await act<GatewayInvoice, Voided, InvoiceView>(
    deps,
    invoiceKind,
    caller,
    id,
    attempt,
    () => ({
      check(invoice) {
        if (VOIDABLE.includes(invoice.status)) return;
        throw invalidState(invoice, `An invoice that is ${invoice.status} cannot be voided.`);
      },
      ready: (invoice) => Promise.resolve(invoice),
      call: ({ gateway_invoice_id }) =>
        deps.gateway.voidInvoice(gateway_invoice_id!, reason, { idempotencyKey: `${id}:void` }),
      take: async (invoice, { body }, key) =>
        body.success === true ? await hearVoided(deps, invoice, reason ?? null, key) : null,
      isStateRefusal: ({ statusCode }) => statusCode === "409",
      refresh: (invoice, outcome) =>
        asking(invoice, outcome, () => refreshInvoice(deps, invoice, "void")),
      isIn: ({ status }) => status === "void",
    }),
  );
}
