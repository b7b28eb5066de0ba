/** `/invoices/{id}.pdf`: an invoice on paper. */

import type { Hono } from "hono";
import type { Invoice } from "../../invoices/invoice.ts";
import { findInvoice } from "../../invoices/invoices.ts";
import type { World } from "../../world/world.ts";
import { type InvoiceItem, readInvoice } from "../invoice_view.ts";
import { rupiah, time } from "../words.ts";
import { type Line, PAGE, pdf } from "./pdf.ts";

/** What fits between the head and the sum. */
const MAX_ITEMS = 30;
const MARGIN = 50;
const RIGHT = PAGE.width - MARGIN;

export function addInvoicePdf(pages: Hono, world: World): void {
  pages.get("/invoices/:file{.+\\.pdf}", (c) => {
    const invoice = findInvoice(world, c.req.param("file").slice(0, -".pdf".length));
    return c.body(invoicePdf(invoice), 200, {
      "Content-Type": "application/pdf",
      "Content-Disposition": `inline; filename="${invoice.id}.pdf"`,
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
    });
  });
}

function invoicePdf(invoice: Invoice): Uint8Array<ArrayBuffer> {
  const { number, customer, email, items, others } = readInvoice(invoice);
  const isQuotation = invoice.documentType === "quotation";
  const title = `${isQuotation ? "Quotation" : "Invoice"} ${number}`;
  const lines: Line[] = [
    { text: title, x: MARGIN, y: 80, size: 15, isBold: true },
    { text: invoice.status.toUpperCase(), x: RIGHT, y: 110, size: 12, isBold: true },
    { text: `For ${customer}${email ? `, ${email}` : ""}`.slice(0, 65), x: MARGIN, y: 110 },
    { text: `Due ${time(invoice.dueAt)}`, x: MARGIN, y: 126 },
  ];
  if (invoice.paidAt !== null) {
    lines.push({ text: `Paid ${time(invoice.paidAt)}`, x: MARGIN, y: 142 });
  }
  let y = 180;
  const row = (text: string, amount: string, isBold = false) => {
    lines.push({ text, x: MARGIN, y, isBold }, { text: amount, x: RIGHT, y, isBold });
    y += 16;
  };
  for (const item of items.slice(0, MAX_ITEMS)) row(describe(item), rupiah(item.sum));
  if (items.length > MAX_ITEMS) row(`and ${items.length - MAX_ITEMS} more`, "");
  for (const { name, amount } of others) row(name, rupiah(amount));
  y += 8;
  row("Total", rupiah(invoice.amount), true);
  lines.push({ text: "Made by a sandbox: no money moves.", x: MARGIN, y: y + 30, size: 8 });
  return pdf(title, lines.map((line) => ({ ...line, isRightAligned: line.x === RIGHT })));
}

/** As much of it as leaves room for the amount. */
function describe({ quantity, description, discount }: InvoiceItem): string {
  const text = `${quantity} x ${description}`.slice(0, 55);
  return discount > 0 ? `${text} (-${discount}%)` : text;
}
