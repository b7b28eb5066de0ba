/** `/payment-links/{id}`: an invoice, and the choice of how to pay it. */

import type { Hono } from "hono";
import { html } from "hono/html";
import type { Invoice, InvoiceStatus } from "../../world/records.ts";
import { findInvoice, INVOICE_METHODS, startPayment } from "../../invoices/invoices.ts";
import type { MethodName } from "../../world/transaction.ts";
import type { OpenWorld } from "../../world/world.ts";
import { type Markup, ownForm, readField, render, safeUrl } from "../shared/layout.ts";
import { readInvoice } from "../../invoices/totals.ts";
import { METHOD_NAMES, rupiah, time } from "../shared/format.ts";
import { screen } from "./screens.ts";

const SAYS: Record<InvoiceStatus, string> = {
  pending: "",
  published: "A quotation: nothing to pay yet",
  overdue: "",
  paid: "Paid",
  voided: "Voided: nothing to pay",
  rejected: "Rejected: nothing to pay",
  canceled: "Cancelled: nothing to pay",
};

export function addPaymentLink(pages: Hono, world: OpenWorld): void {
  pages.get("/payment-links/:id", (c) => {
    const invoice = findInvoice(world, c.req.param("id"));
    const { number, customer } = readInvoice(invoice);
    const isPayable = SAYS[invoice.status] === "";
    return render(c, {
      title: `Invoice ${number}`,
      body: screen({
        brand: `Invoice ${number}`,
        title: isPayable ? rupiah(invoice.amount) : SAYS[invoice.status],
        facts: [
          ["For", customer],
          ["Due", time(invoice.dueAt)],
          ["Status", html`<span class="badge ${invoice.status}">${invoice.status}</span>`],
        ],
        body: html`
          ${items(invoice)} ${isPayable ? choice() : wayBack(invoice)}
          <p><a href="/invoices/${invoice.id}.pdf">As a PDF</a></p>
        `,
      }),
    });
  });

  pages.post("/payment-links/:id", ownForm(world), async (c) => {
    const method = await readField(c, "payment_type") as MethodName;
    const { id } = startPayment(world, c.req.param("id"), method);
    await world.committed();
    return c.redirect(`/pay/${id}`, 303);
  });
}

function items(invoice: Invoice): Markup {
  const { items, others } = readInvoice(invoice);
  return html`
    <table class="items">
      <tbody>
        ${items.map(({ description, quantity, discount, sum }) =>
          html`
            <tr>
              <td>${quantity} × ${description}${discount > 0 && ` (−${discount}%)`}</td>
              <td class="number">${rupiah(sum)}</td>
            </tr>
          `
        )}
        ${others.map(({ name, amount }) =>
          html`
            <tr>
              <td>${name}</td>
              <td class="number">${rupiah(amount)}</td>
            </tr>
          `
        )}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">Total</th>
          <td class="number">${rupiah(invoice.amount)}</td>
        </tr>
      </tfoot>
    </table>
  `;
}

function choice(): Markup {
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

function wayBack(invoice: Invoice): Markup {
  const back = safeUrl(readInvoice(invoice).finishUrl);
  if (!back) return "";
  return html`
    <div class="ways"><a class="button primary" href="${back.href}">Back to the shop</a></div>
  `;
}
