/** `/invoices/{id}.pdf`: an invoice as a one-page PDF, written without a library. */

import type { Hono } from "hono";
import { findInvoice } from "../../invoices/invoices.ts";
import { type InvoiceLine, summarizeInvoice } from "../../invoices/totals.ts";
import type { Invoice } from "../../world/records.ts";
import type { World } from "../../world/world.ts";
import { formatRupiah, formatTime } from "../shared/format.ts";

/** A4 in points. */
const PAGE = { width: 595, height: 842 };
/** Number of items that fit on the page. */
const MAX_ITEMS = 30;
const MARGIN = 50;
const RIGHT = PAGE.width - MARGIN;
/** Width of every Courier letter, relative to the font size. */
const LETTER_WIDTH = 0.6;

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
  const { number, customer, email, items, adjustments } = summarizeInvoice(invoice);
  const isQuotation = invoice.documentType === "quotation";
  const title = `${isQuotation ? "Quotation" : "Invoice"} ${number}`;
  const lines: Line[] = [
    { text: title, x: MARGIN, y: 80, size: 15, isBold: true },
    { text: invoice.status.toUpperCase(), x: RIGHT, y: 110, size: 12, isBold: true },
    { text: `For ${customer}${email ? `, ${email}` : ""}`.slice(0, 65), x: MARGIN, y: 110 },
    { text: `Due ${formatTime(invoice.dueAt)}`, x: MARGIN, y: 126 },
  ];
  if (invoice.paidAt !== null) {
    lines.push({ text: `Paid ${formatTime(invoice.paidAt)}`, x: MARGIN, y: 142 });
  }
  let y = 180;
  const addRow = (text: string, amount: string, isBold = false) => {
    lines.push({ text, x: MARGIN, y, isBold }, { text: amount, x: RIGHT, y, isBold });
    y += 16;
  };
  for (const item of items.slice(0, MAX_ITEMS)) addRow(describe(item), formatRupiah(item.sum));
  if (items.length > MAX_ITEMS) addRow(`and ${items.length - MAX_ITEMS} more`, "");
  for (const { name, amount } of adjustments) addRow(name, formatRupiah(amount));
  y += 8;
  addRow("Total", formatRupiah(invoice.amount), true);
  lines.push({
    text: "Created by the sandbox: not a real invoice.",
    x: MARGIN,
    y: y + 30,
    size: 8,
  });
  return writePdf(title, lines.map((line) => ({ ...line, isRightAligned: line.x === RIGHT })));
}

/** Cuts the text to leave room for the amount. */
function describe({ quantity, description, discount }: InvoiceLine): string {
  const text = `${quantity} x ${description}`.slice(0, 55);
  return discount > 0 ? `${text} (-${discount}%)` : text;
}

interface Line {
  text: string;
  x: number;
  /** Distance from the top of the page. */
  y: number;
  size?: number;
  isBold?: boolean;
  /** If true, `x` is the right end of the text. */
  isRightAligned?: boolean;
}

/** Writes a PDF by hand: its objects, and a table with their offsets. */
function writePdf(title: string, lines: Line[]): Uint8Array<ArrayBuffer> {
  const content = lines.map(drawLine).join("\n");
  const font = (name: string) =>
    `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${PAGE.width} ${PAGE.height}] /Contents 4 0 R ` +
    "/Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>",
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    // A fixed-width font: the width of a line follows from its length.
    font("Courier"),
    font("Courier-Bold"),
    `<< /Title (${escape(title)}) >>`,
  ];

  let file = "%PDF-1.4\n";
  const offsets = objects.map((object, index) => {
    const offset = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, "0")} 00000 n \n`;
  });
  const tableOffset = file.length;
  const size = objects.length + 1;
  file += `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join("")}` +
    `trailer\n<< /Size ${size} /Root 1 0 R /Info 7 0 R >>\nstartxref\n${tableOffset}\n%%EOF\n`;
  return Uint8Array.from(file, (character) => character.charCodeAt(0));
}

function drawLine({ text, x, y, size = 10, isBold = false, isRightAligned = false }: Line): string {
  const left = isRightAligned ? x - text.length * size * LETTER_WIDTH : x;
  const font = isBold ? "F2" : "F1";
  return `BT /${font} ${size} Tf ${left.toFixed(2)} ${PAGE.height - y} Td (${escape(text)}) Tj ET`;
}

/** Escapes parentheses and backslashes; characters that are not printable Latin-1 become `?`. */
function escape(text: string): string {
  return text.replaceAll(/[^\x20-\x7e\xa0-\xff]/gu, "?").replaceAll(/[\\()]/g, "\\$&");
}
