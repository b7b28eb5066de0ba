/** `/payment-links/{id}`: an invoice with a choice of payment methods. */

import type { Hono } from "hono";
import { html } from "hono/html";
import { findInvoice, INVOICE_METHODS, startInvoicePayment } from "../../invoices/invoices.ts";
import { summarizeInvoice } from "../../invoices/totals.ts";
import type { Invoice, InvoiceStatus } from "../../world/records.ts";
import type { MethodName } from "../../world/transaction.ts";
import type { OpenWorld } from "../../world/world.ts";
import { displayName, formatRupiah, formatTime, METHOD_NAMES } from "../shared/format.ts";
import { type Markup, readField, render, safeUrl, sameOriginForm } from "../shared/layout.ts";
import { digits, screen } from "./screens.ts";

/** Why an invoice cannot be paid; empty if it can. */
const NOT_PAYABLE: Record<InvoiceStatus, string> = {
  pending: "",
  published: "This is a quotation. No payment is due yet.",
  overdue: "",
  paid: "This invoice is paid. Thank you.",
  voided: "The merchant voided this invoice. No payment is due.",
  rejected: "The customer rejected this quotation. No payment is due.",
  canceled: "The merchant canceled this quotation. No payment is due.",
};

export function addPaymentLink(pages: Hono, world: OpenWorld): void {
  pages.get("/payment-links/:id", (c) => {
    const invoice = findInvoice(world, c.req.param("id"));
    const { number, customer } = summarizeInvoice(invoice);
    const reason = NOT_PAYABLE[invoice.status];
    const name = `${invoice.documentType === "quotation" ? "Quotation" : "Invoice"} ${number}`;
    return render(c, {
      title: name,
      script: "copy",
      body: screen({
        brand: name,
        title: formatRupiah(invoice.amount),
        facts: [
          ["Status", html`<span class="badge ${invoice.status}">${invoice.status}</span>`],
          ["For", customer],
          ["Order", invoice.orderId],
          ["Due", formatTime(invoice.dueAt)],
          ...invoice.virtualAccounts.map(({ bank, number }): [string, Markup] => [
            `${displayName(bank.replace(/_(va|bill)$/, ""))} ${
              bank.endsWith("_bill") ? "bill key" : "virtual account"
            }`,
            digits("account number", number),
          ]),
        ],
        body: html`
          ${items(invoice)} ${notes(invoice)}
          ${reason === "" ? methodForm() : html`<p>${reason}</p>${backLink(invoice)}`}
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
      <caption>Items</caption>
      <tbody>
        ${items.map(({ description, quantity, price, discount, sum }) =>
          html`
            <tr>
              <td>
                ${description}
                <small>${quantity} × ${formatRupiah(price)}${discount > 0 &&
                  `, −${discount}%`}</small>
              </td>
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

function notes(invoice: Invoice): Markup {
  const { notes } = summarizeInvoice(invoice);
  if (!notes) return "";
  return html`
    <h2>Notes</h2>
    <p class="notes">${notes}</p>
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
