/** Operations on invoices, whose idempotency key has a header of its own. */

import { Invoice, Voided } from "../answers.ts";
import type { Ask, CallOptions } from "../ask.ts";
import { get, patch, path, post } from "../draft.ts";

const keyHeader = "X-Idempotency-Key";

export function invoiceOperations(ask: Ask) {
  return {
    async createInvoice(payload: object, options?: CallOptions) {
      return await ask(Invoice, { ...post("/v1/invoices", payload), keyHeader }, options);
    },
    async getInvoice(invoiceId: string, options?: CallOptions) {
      return await ask(Invoice, get(path`/v1/invoices/${invoiceId}`), options);
    },
    async voidInvoice(invoiceId: string, voidReason = "", options?: CallOptions) {
      const body = voidReason === "" ? {} : { void_reason: voidReason };
      const draft = patch(path`/v1/invoices/${invoiceId}/void`, body);
      return await ask(Voided, { ...draft, keyHeader }, options);
    },
  };
}
