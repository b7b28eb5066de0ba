/** Applies the gateway's reports to invoices. No other code changes the state of an invoice. */

import type { GatewayInvoice } from "../../db/billing/invoices.ts";
import type { Invoice } from "../gateway/responses.ts";
import { parseMoney } from "../money.ts";
import { changeRecord } from "../records/change.ts";
import { MAX_CHECK_INTERVAL_MS, nextCheck } from "../records/check_times.ts";
import type { Change, KeyChange } from "../records/record.ts";
import type { Service } from "../service.ts";
import { invoiceKind } from "./invoice_record.ts";
import { canBecome, eventsOf, type InvoiceStatus, isOpen, statusFromGateway } from "./states.ts";

/** What caused the report; stored in the invoice's history. */
export type Source =
  | "create"
  | "void"
  | "get_invoice_status"
  | "check_invoice_status"
  | "notification";

export interface InvoiceReport {
  /** Already checked with `matchesInvoice`. */
  answer: Invoice;
  source: Source;
  /** The version of the invoice that was known when the gateway was asked. */
  askedAtVersion: number;
  key?: KeyChange<GatewayInvoice> | null;
  /** The notification that caused the request. */
  notificationId?: string | null;
}

export interface AppliedInvoiceReport {
  invoice: GatewayInvoice;
  /** The invoice changed during the request, so the report may be outdated and was ignored. */
  isReportStale: boolean;
}

/** Applies what is new in the report, and sets the next check. Ignores a stale report. */
export async function applyReport(
  service: Service,
  known: GatewayInvoice,
  { answer, source, askedAtVersion, key, notificationId = null }: InvoiceReport,
): Promise<AppliedInvoiceReport> {
  let isReportStale = false;
  const invoice = await changeRecord(service, invoiceKind, known, (current) => {
    const now = new Date(service.clock());
    const reported = statusFromGateway(answer.status, current.due_at, now);
    // The first response cannot be outdated, and a paid invoice stays paid.
    const isFirst = current.gateway_invoice_id === null;
    isReportStale = !isFirst && current.version !== askedAtVersion && reported !== "paid";
    if (isReportStale) return key ? { key } : null;
    const to = reported !== null && canBecome(current.status, reported) ? reported : current.status;
    const change = changeStatus(current, to, source, now);
    const set = {
      gateway_invoice_id: answer.id ?? current.gateway_invoice_id,
      payment_link_url: answer.payment_link_url ?? current.payment_link_url,
      pdf_url: answer.pdf_url ?? current.pdf_url,
      void_reason: answer.void_reason ?? current.void_reason,
      ...change?.set,
      check_at: current.status === "void" && to === "void"
        ? lastCheckTime(current, source, notificationId, now)
        : checkTime(current, to, now),
    };
    return { ...change, set, key, eventData: { notification_id: notificationId } };
  });
  return { invoice, isReportStale };
}

/** The gateway voided the invoice as requested. */
export async function applyVoid(
  service: Service,
  known: GatewayInvoice,
  void_reason: string | null,
  key: KeyChange<GatewayInvoice> | null,
): Promise<GatewayInvoice> {
  return await changeRecord(service, invoiceKind, known, (current) => {
    const now = new Date(service.clock());
    const change = changeStatus(current, "void", "void", now);
    if (!change) return key ? { key } : null;
    const check_at = checkTime(current, "void", now);
    return { ...change, set: { ...change.set, void_reason, check_at }, key };
  });
}

/** The gateway refused the creation: there is no such invoice, and there never will be one. */
export async function applyRefusal(
  service: Service,
  known: GatewayInvoice,
  key: KeyChange<GatewayInvoice> | null,
): Promise<GatewayInvoice> {
  return await changeRecord(service, invoiceKind, known, (current) => {
    const now = new Date(service.clock());
    const change = changeStatus(current, "failed", "create", now);
    if (!change) return key ? { key } : null;
    return { ...change, set: { ...change.set, check_at: null }, key };
  });
}

/** Null: the invoice already has this status, or cannot get it. */
function changeStatus(
  current: GatewayInvoice,
  to: InvoiceStatus,
  source: Source,
  now: Date,
): Change<GatewayInvoice> | null {
  if (to === current.status || !canBecome(current.status, to)) return null;
  return {
    set: to === "paid" ? { paid_at: now } : {},
    transition: { to: { status: to, fraud: null }, events: eventsOf(current.status, to), source },
  };
}

/**
 * How long after the void the invoice is checked for the last time: a customer who started to pay
 * before the void can still finish the payment for a day.
 */
const LAST_CHECK_MS = 25 * 3_600_000;

/**
 * The last check of an invoice that was voided before. Earlier checks keep it: those by a caller or
 * a notification, and those of an unanswered void. The last check itself ends the checks; it is a
 * scheduled one, and the schedule has already moved `check_at` by at most `MAX_CHECK_INTERVAL_MS`.
 */
function lastCheckTime(
  { check_at }: GatewayInvoice,
  source: Source,
  notificationId: string | null,
  now: Date,
): Date | null {
  const isScheduled = source === "check_invoice_status" && notificationId === null;
  const isLast = check_at !== null && check_at.getTime() <= now.getTime() + MAX_CHECK_INTERVAL_MS;
  return isScheduled && isLast ? null : check_at;
}

/** Older invoices are checked less often. Each is also checked when it becomes overdue. */
function checkTime(invoice: GatewayInvoice, status: InvoiceStatus, now: Date): Date | null {
  const isVoidNow = status === "void" && invoice.status !== "void";
  if (isVoidNow) return new Date(now.getTime() + LAST_CHECK_MS);
  if (!isOpen(status)) return null;
  const next = nextCheck(invoice.created_at, now);
  const overdue = new Date(invoice.due_at.getTime() + 1_000);
  return overdue > now && overdue < next ? overdue : next;
}

/** Whether a response describes this invoice: same ids, number and amount, and a known status. */
export function matchesInvoice(invoice: GatewayInvoice, answer: Invoice): boolean {
  return answer.id !== null && answer.id === (invoice.gateway_invoice_id ?? answer.id) &&
    answer.order_id === invoice.order_id &&
    (answer.invoice_number ?? invoice.invoice_number) === invoice.invoice_number &&
    parseMoney(answer.gross_amount) === invoice.total_amount &&
    statusFromGateway(answer.status, invoice.due_at, invoice.created_at) !== null;
}
