/** `/payment-links/{id}`: an invoice with a choice of payment methods. */

import type { Hono } from "hono";
import { html } from "hono/html";
import { findInvoice, INVOICE_METHODS, startInvoicePayment } from "../../invoices/invoices.ts";
import { summarizeInvoice } from "../../invoices/totals.ts";
import type { Invoice, InvoiceStatus } from "../../world/records.ts";
import type { MethodName } from "../../world/transaction.ts";
import type { OpenWorld } from "../../world/world.ts";
import { formatRupiah, formatTime, METHOD_NAMES } from "../shared/format.ts";
import { type Markup, readField, render, safeUrl, sameOriginForm } from "../shared/layout.ts";
import { screen } from "./screens.ts";

const TITLES: Record<InvoiceStatus, string> = {
  pending: "",
  published: "Quotation: no payment due yet",
  overdue: "",
  paid: "Paid",
  voided: "Voided: no payment due",
  rejected: "Rejected: no payment due",
  canceled: "Cancelled: no payment due",
};

export function addPaymentLink(pages: Hono, world: OpenWorld): void {
  pages.get("/payment-links/:id", (c) => {
    const invoice = findInvoice(world, c.req.param("id"));
    const { number, customer } = summarizeInvoice(invoice);
    const isPayable = TITLES[invoice.status] === "";
    return render(c, {
      title: `Invoice ${number}`,
      body: screen({
        brand: `Invoice ${number}`,
        title: isPayable ? formatRupiah(invoice.amount) : TITLES[invoice.status],
        facts: [
          ["For", customer],
          ["Due", formatTime(invoice.dueAt)],
          ["Status", html`<span class="badge ${invoice.status}">${invoice.status}</span>`],
        ],
        body: html`
          ${items(invoice)} ${isPayable ? methodForm() : backLink(invoice)}
          <p><a href="/invoices/${invoice.id}.pdf">Download PDF</a></p>
        `,
      }),
    });
  });

  pages.post("/payment-links/:id", sameOriginForm(world), async (c) => {
    const method = await readField(c, "payment_type") as MethodName;
    const { id } = startInvoicePayment(world, c.req.param("id"), method);
    await world.committed();
    return c.redirect(`/pay/${id}`, 303);
  });
}

function items(invoice: Invoice): Markup {
  const { items, adjustments } = summarizeInvoice(invoice);
  return html`
    <table class="items">
      <tbody>
        ${items.map(({ description, quantity, discount, sum }) =>
          html`
            <tr>
              <td>${quantity} × ${description}${discount > 0 && ` (−${discount}%)`}</td>
              <td class="number">${formatRupiah(sum)}</td>
            </tr>
          `
        )}
        ${adjustments.map(({ name, amount }) =>
          html`
            <tr>
              <td>${name}</td>
              <td class="number">${formatRupiah(amount)}</td>
            </tr>
          `
        )}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">Total</th>
          <td class="number">${formatRupiah(invoice.amount)}</td>
        </tr>
      </tfoot>
    </table>
  `;
}

function methodForm(): Markup {
  return html`
    <form method="post">
      <fieldset class="choices">
        <legend>Pay with</legend>
        ${INVOICE_METHODS.map((method, index) =>
          html`
            <label>
              <input type="radio" name="payment_type" value="${method}" ${index === 0 && "checked"}>
              ${METHOD_NAMES[method]}
            </label>
          `
        )}
      </fieldset>
      <button class="primary">Continue</button>
    </form>
  `;
}

function backLink(invoice: Invoice): Markup {
  const back = safeUrl(summarizeInvoice(invoice).finishUrl);
  if (!back) return "";
  return html`
    <div class="ways"><a class="button primary" href="${back.href}">Back to the merchant</a></div>
  `;
}
