/** The states of an invoice, and which state can follow which. */

import type { InvoiceStatus } from "../../db/billing/invoices.ts";
import type { InvoiceEventName } from "../events/names.ts";

export { INVOICE_STATUSES } from "../../db/billing/invoices.ts";
export type { InvoiceStatus } from "../../db/billing/invoices.ts";

/**
 * States come from the gateway's responses, and a response may be outdated when it is applied. It
 * must not undo that an invoice was paid or voided, so there is no way back from these states.
 */
const FORWARD: Record<InvoiceStatus, readonly InvoiceStatus[]> = {
  pending: ["draft", "sent", "partial", "overdue", "paid", "void", "failed"],
  draft: ["sent", "partial", "overdue", "paid", "void"],
  sent: ["partial", "overdue", "paid", "void"],
  partial: ["overdue", "paid", "void"],
  // The due date can be moved at the gateway.
  overdue: ["sent", "partial", "paid", "void"],
  // A customer who started to pay before the void can still finish the payment.
  void: ["paid"],
  paid: [],
  failed: [],
};

export function canBecome(from: InvoiceStatus, to: InvoiceStatus): boolean {
  return FORWARD[from].includes(to);
}

export const VOIDABLE: readonly InvoiceStatus[] = ["sent", "overdue"];

/** False for `paid`, `void` and `failed`. A voided invoice can still become paid. */
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
  // Not seen so far, but part of the specification.
  partial: "partial",
  overdue: "overdue",
  expired: "overdue",
  paid: "paid",
  voided: "void",
  rejected: "void",
  canceled: "void",
  cancelled: "void",
};

/** Translates the gateway's status to ours; null: the service does not know that status. */
export function statusFromGateway(
  reported: string | null,
  dueAt: Date,
  now: Date,
): InvoiceStatus | null {
  const status = reported !== null && Object.hasOwn(AT_GATEWAY, reported)
    ? AT_GATEWAY[reported]!
    : null;
  // The gateway sets `overdue` with a delay.
  return status === "sent" && dueAt < now ? "overdue" : status;
}
