/** Sends an invoice that is written, and brings it to one of its ends. */

import type { GatewayInvoice } from "../../db/invoices.ts";
import type { Answer, Invoice } from "../gateway/answers.ts";
import { GatewayError } from "../gateway/errors.ts";
import { endUnknown } from "../records/end_unknown.ts";
import { answeredWith, type Asker, failedWith } from "../records/keyed_change.ts";
import type { InvoiceDeps } from "./deps.ts";
import { hear, hearRefusal } from "./gate.ts";
import { invoicePayload } from "./invoice_payload.ts";
import { invoiceKind } from "./kind.ts";
import { problems } from "./problems.ts";
import { isAbout } from "./recognize.ts";
import { viewInvoice } from "./views.ts";

/** For how long the gateway knows that it was asked before (G§8), less what a call may take. */
const WINDOW_MS = 5 * 60_000 - 20_000;

/** Afterwards it would make another one; and it cannot be asked whether there is one. */
export function mayBeSentAgain({ sent_at }: GatewayInvoice, now: number): boolean {
  const since = now - sent_at.getTime();
  return since >= 0 && since < WINDOW_MS;
}

/** `isSentBefore`: an earlier time may have gone through, whatever becomes of this one. */
export async function sendInvoice(
  deps: InvoiceDeps,
  asker: Asker,
  invoice: GatewayInvoice,
  isSentBefore: boolean,
): Promise<GatewayInvoice> {
  let answer: Answer<Invoice>;
  try {
    const payload = invoicePayload(invoice, deps.invoicePayments);
    answer = await deps.gateway.createInvoice(payload, { idempotencyKey: invoice.id });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw await settle(deps, asker, invoice, { error, isSentBefore });
  }
  if (!isAbout(invoice, answer.body)) {
    const problem = problems.unexplained(invoice, answer.statusCode);
    throw await endUnknown(deps, invoiceKind, asker, invoice, problem);
  }
  const heard = await hear(deps, invoice, {
    answer: answer.body,
    source: "create",
    askedAt: invoice.version,
    key: answeredWith(asker, viewInvoice, new Date(deps.clock())),
  });
  return heard.invoice;
}

interface Failed {
  error: GatewayError;
  isSentBefore: boolean;
}

/** How one ends that was not answered well; the problem, to be thrown. */
async function settle(
  deps: InvoiceDeps,
  asker: Asker,
  invoice: GatewayInvoice,
  { error, isSentBefore }: Failed,
) {
  const { gatewayProblem, problemAbout } = problems;
  if (error.outcome !== "refused" || isSentBefore) {
    const problem = gatewayProblem(error, invoice, "unknown");
    return await endUnknown(deps, invoiceKind, asker, invoice, problem);
  }
  const problem = error.statusCode === "409"
    ? problemAbout("duplicate_order", invoice, "refused", {
      detail: "The order id is taken at the gateway.",
      cause: error,
    })
    : gatewayProblem(error, invoice);
  await hearRefusal(deps, invoice, failedWith(asker, problem, new Date(deps.clock())));
  return problem;
}
