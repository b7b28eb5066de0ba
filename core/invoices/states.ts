/** The states of an invoice, and which may follow which (contract 5). */

import type { InvoiceStatus } from "../../db/invoices.ts";
import type { InvoiceEventName } from "../events/names.ts";

export { INVOICE_STATUSES } from "../../db/invoices.ts";
export type { InvoiceStatus } from "../../db/invoices.ts";

/**
 * All is learned from the gateway's own answers, so that each is the truth of its moment. What stays
 * out is what an answer that was overtaken could undo: that it was paid, and that it was voided.
 */
const FORWARD: Record<InvoiceStatus, readonly InvoiceStatus[]> = {
  pending: ["draft", "sent", "partial", "overdue", "paid", "void", "failed"],
  draft: ["sent", "partial", "overdue", "paid", "void"],
  sent: ["partial", "overdue", "paid", "void"],
  partial: ["overdue", "paid", "void"],
  // Its date may have been put off.
  overdue: ["sent", "partial", "paid", "void"],
  // The customer was quicker.
  void: ["paid"],
  paid: [],
  failed: [],
};

export function canBecome(from: InvoiceStatus, to: InvoiceStatus): boolean {
  return FORWARD[from].includes(to);
}

export const VOIDABLE: readonly InvoiceStatus[] = ["sent", "overdue"];

/** Those that the gateway may still have news of. */
export function isOpen(status: InvoiceStatus): boolean {
  return status !== "paid" && status !== "void" && status !== "failed";
}

export function eventsOf(from: InvoiceStatus, to: InvoiceStatus): InvoiceEventName[] {
  return [
    ...from === "pending" && to !== "failed" ? ["invoice_created" as const] : [],
    ...to === "paid" ? ["invoice_paid" as const] : [],
    ...to === "void" ? ["invoice_voided" as const] : [],
  ];
}

const AT_GATEWAY: Record<string, InvoiceStatus> = {
  draft: "draft",
  pending: "sent",
  published: "sent",
  // Where the gateway ever should say so.
  partial: "partial",
  overdue: "overdue",
  expired: "overdue",
  paid: "paid",
  voided: "void",
  rejected: "void",
  canceled: "void",
  cancelled: "void",
};

/** What the gateway's word means here; null: it says nothing that is known. */
export function statusAtGateway(said: string | null, dueAt: Date, now: Date): InvoiceStatus | null {
  const status = said !== null && Object.hasOwn(AT_GATEWAY, said) ? AT_GATEWAY[said]! : null;
  // The gateway takes its time to notice.
  return status === "sent" && dueAt < now ? "overdue" : status;
}
