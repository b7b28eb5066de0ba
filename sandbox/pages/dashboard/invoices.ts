/** `/invoices`: the live list of invoices, with the possible actions of each. */

import type { Hono } from "hono";
import { html } from "hono/html";
import { summarizeInvoice } from "../../invoices/totals.ts";
import type { Invoice } from "../../world/records.ts";
import type { OpenWorld } from "../../world/world.ts";
import { formatRupiah, formatTime } from "../shared/format.ts";
import type { Markup } from "../shared/layout.ts";
import { describeCount, MAX_ROWS, renderList, type RowButton, rowButton } from "./frame.ts";

export function addInvoiceList(pages: Hono, world: OpenWorld): void {
  pages.get("/invoices", (c) => {
    const shown = Iterator.from(world.invoices.newest()).take(MAX_ROWS).toArray();
    return renderList(c, world, {
      title: "Invoices",
      count: describeCount(shown.length, world.invoices.size),
      list: shown.length > 0
        ? table(shown)
        : html`<p class="card empty">No invoices yet. They appear here when they are created.</p>`,
    });
  });
}

function table(invoices: Invoice[]): Markup {
  return html`
    <table class="transactions invoices">
      <thead>
        <tr>
          <th scope="col">Invoice</th>
          <th scope="col">Customer</th>
          <th scope="col" class="number">Amount</th>
          <th scope="col">Status</th>
          <th scope="col">Due</th>
          <th scope="col">Actions</th>
        </tr>
      </thead>
      ${invoices.map(tableRow)}
    </table>
  `;
}

function tableRow(invoice: Invoice): Markup {
  const { id, orderId, amount, status, dueAt } = invoice;
  const { number, customer } = summarizeInvoice(invoice);
  return html`
    <tbody id="i-${id}">
      <tr>
        <td>
          <a href="/payment-links/${id}" data-key="page ${id}">${number}</a>
          <small>${orderId}</small>
        </td>
        <td>${customer}</td>
        <td class="number">${formatRupiah(amount)}</td>
        <td><span class="badge ${status}">${status}</span></td>
        <td><span class="label">Due:</span> <small>${formatTime(dueAt)}</small></td>
        <td>
          <div class="actions">
            ${buttonsOf(invoice).map((button) => rowButton(button, id, number))}
            <a href="/invoices/${id}.pdf" data-key="pdf ${id}"
              aria-label="PDF of ${number}">PDF</a>
          </div>
        </td>
      </tr>
    </tbody>
  `;
}

function buttonsOf({ id, status, documentType }: Invoice): RowButton[] {
  const path = `invoices/${id}`;
  const isOpen = status === "pending" || status === "overdue";
  const isQuotation = documentType === "quotation" && status === "published";
  return [
    ...isOpen ? [{ label: "Pay", path: `${path}/pay` }] : [],
    ...isQuotation ? [{ label: "Convert", path: `${path}/convert` }] : [],
    ...isOpen ? [{ label: "Void", path: `${path}/void` }] : [],
    ...isQuotation ? [{ label: "Cancel", path: `${path}/void` }] : [],
  ];
}
