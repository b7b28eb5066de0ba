/**
 * The gate of invoices: whatever the gateway says about one, and whoever asked for it, passes here. No
 * other code changes the state of an invoice.
 */

import type { GatewayInvoice } from "../../db/invoices.ts";
import type { Invoice } from "../gateway/responses.ts";
import { changeRecord } from "../records/change.ts";
import { nextCheck } from "../records/check_times.ts";
import type { RecordDeps } from "../records/deps.ts";
import type { Change } from "../records/kind.ts";
import type { Seen } from "../records/look.ts";
import { invoiceKind } from "./kind.ts";
import { canBecome, eventsOf, type InvoiceStatus, isOpen, statusAtGateway } from "./states.ts";

/** Who heard it; kept in the invoice's story. */
export type Source =
  | "create"
  | "void"
  | "get_invoice_status"
  | "check_invoice_status"
  | "notification";

type Key = Change<GatewayInvoice>["key"];

export interface Hearing {
  /** It is about this invoice. */
  answer: Invoice;
  source: Source;
  /** The version of the invoice that was known when the gateway was asked. */
  askedAt: number;
  key?: Key;
  /** The notification that made somebody ask. */
  notificationId?: string | null;
}

/** Takes over what the gateway says about an invoice, as far as it is news. */
export async function hear(
  deps: RecordDeps,
  known: GatewayInvoice,
  { answer, source, askedAt, key, notificationId = null }: Hearing,
): Promise<Seen<GatewayInvoice>> {
  let isOvertaken = false;
  const record = await changeRecord(deps, invoiceKind, known, (current) => {
    const now = new Date(deps.clock());
    const said = statusAtGateway(answer.status, current.due_at, now);
    // What waits for its first answer can have had no newer one; and that it was paid stays true.
    const isFirst = current.gateway_invoice_id === null;
    isOvertaken = !isFirst && current.version !== askedAt && said !== "paid";
    if (isOvertaken) return key ? { key } : null;
    const to = said !== null && canBecome(current.status, said) ? said : current.status;
    const change = moved(current, to, { source, now });
    const set = {
      gateway_invoice_id: answer.id ?? current.gateway_invoice_id,
      payment_link_url: answer.payment_link_url ?? current.payment_link_url,
      pdf_url: answer.pdf_url ?? current.pdf_url,
      void_reason: answer.void_reason ?? current.void_reason,
      ...change?.set,
      check_at: checkTime(current, to, now),
    };
    return { ...change, set, key, told: { notification_id: notificationId } };
  });
  return { record, isOvertaken };
}

/** The gateway voided it, as it was asked to. */
export async function hearVoided(
  deps: RecordDeps,
  known: GatewayInvoice,
  void_reason: string | null,
  key: Key,
): Promise<GatewayInvoice> {
  return await become(deps, known, "void", { source: "void", set: { void_reason }, key });
}

/** The gateway refused it outright: there is no such invoice, and never will be. */
export async function hearRefusal(
  deps: RecordDeps,
  known: GatewayInvoice,
  key: Key,
): Promise<GatewayInvoice> {
  return await become(deps, known, "failed", { source: "create", key });
}

async function become(
  deps: RecordDeps,
  known: GatewayInvoice,
  to: InvoiceStatus,
  { source, set, key }: { source: Source; set?: Partial<GatewayInvoice>; key: Key },
): Promise<GatewayInvoice> {
  return await changeRecord(deps, invoiceKind, known, (current) => {
    const now = new Date(deps.clock());
    const change = moved(current, to, { source, now });
    if (!change) return key ? { key } : null;
    const check_at = checkTime(current, to, now);
    return { ...change, set: { ...change.set, ...set, check_at }, key };
  });
}

/** Null: it is there already, or can never be. */
function moved(
  current: GatewayInvoice,
  to: InvoiceStatus,
  { source, now }: { source: Source; now: Date },
): Change<GatewayInvoice> | null {
  if (to === current.status || !canBecome(current.status, to)) return null;
  return {
    set: to === "paid" ? { paid_at: now } : {},
    transition: { to: { status: to, fraud: null }, events: eventsOf(current.status, to), source },
  };
}

/** What a customer began to pay before an invoice was voided can be paid for a day (G§11). */
const LAST_LOOK_MS = 25 * 3_600_000;

/** The older, the later; but not later than when it is overdue. */
function checkTime(invoice: GatewayInvoice, status: InvoiceStatus, now: Date): Date | null {
  const isVoidNow = status === "void" && invoice.status !== "void";
  if (isVoidNow) return new Date(now.getTime() + LAST_LOOK_MS);
  if (!isOpen(status)) return null;
  const next = nextCheck(invoice.created_at, now);
  const overdue = new Date(invoice.due_at.getTime() + 1_000);
  return overdue > now && overdue < next ? overdue : next;
}
