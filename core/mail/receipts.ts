/** `receiptOf`: the receipt that a customer gets by mail for a payment or a refund. */

import { html } from "hono/html";
import { checkoutKind } from "../checkouts/checkout_record.ts";
import type { EventOf } from "../handlers/events.ts";
import { rupiah } from "../money.ts";
import type { Mail } from "../posting/mailer.ts";
import type { Service } from "../service.ts";
import { type Language, RECEIPT_WORDS } from "./receipt_words.ts";

type PaymentEvent = EventOf<"payment_settled" | "payment_refunded">;

/**
 * Null: the customer gets none, because no address is known, or because the event is a chargeback,
 * about which the customer's bank informs.
 */
export async function receiptOf(
  { database, merchant }: Pick<Service, "database" | "merchant">,
  event: PaymentEvent,
): Promise<Mail | null> {
  const { customer_email, checkout_id, transaction_status } = event.data;
  if (!customer_email) return null;
  const isRefund = event.name === "payment_refunded";
  if (isRefund && !["refund", "partial_refund"].includes(transaction_status)) return null;
  const checkout = checkout_id === null
    ? null
    : await database.query((sql) => checkoutKind.find(sql, checkout_id), "find checkout");
  const languages = languagesOf(checkout?.language ?? null);
  const receipts = languages.map((language) => buildReceipt(language, event, merchant.name));
  return {
    to: [customer_email],
    subject: receipts.map(({ title }) => title).join(" / ") + `: ${event.data.order_id}`,
    text: receipts.map(toText).join("\n\n---\n\n") + "\n",
    html: await toHtml(receipts),
    // The event's id stays the same if the mail is sent again after a crash.
    id: `receipt.${event.id}`,
  };
}

/** Both languages if the customer's is not known. */
function languagesOf(known: string | null): Language[] {
  return known === "id" || known === "en" ? [known] : ["id", "en"];
}

interface Receipt {
  language: Language;
  title: string;
  /** Paragraphs before the facts. */
  texts: string[];
  facts: [name: string, value: string][];
}

function buildReceipt(
  language: Language,
  { name, data, created_at }: PaymentEvent,
  merchant: string | null,
): Receipt {
  const words = RECEIPT_WORDS[language];
  const isRefund = name === "payment_refunded";
  const paid = rupiah(data.captured_amount ?? data.gross_amount);
  const customer = [data.customer_first_name, data.customer_last_name].filter(Boolean).join(" ");
  const facts: Receipt["facts"] = [
    ...merchant ? [[words.merchant, merchant] satisfies Receipt["facts"][number]] : [],
    [words.order, data.order_id],
    ...data.items.map(({ name, price, quantity }): Receipt["facts"][number] => [
      name,
      `${quantity} × ${rupiah(price)}`,
    ]),
    [words.paid, paid],
    ...isRefund
      ? [[words.refunded, rupiah(data.refund_amount)] satisfies Receipt["facts"][number]]
      : [],
    [words.time, jakartaTime(isRefund ? created_at : data.settlement_time ?? created_at, words)],
  ];
  return {
    language,
    title: isRefund ? words.refundTitle : words.paidTitle,
    texts: [words.greeting(customer), isRefund ? words.refundText : words.paidText],
    facts,
  };
}

/** Western Indonesia Time, such as `16 Nov 2026, 21:03 WIB`. */
function jakartaTime(iso: string, { locale }: { locale: string }): string {
  const format = new Intl.DateTimeFormat(locale, {
    dateStyle: "medium",
    timeStyle: "short",
    timeZone: "Asia/Jakarta",
  });
  return `${format.format(new Date(iso))} WIB`;
}

function toText({ title, texts, facts }: Receipt): string {
  return [title, "", ...texts, "", ...facts.map(([name, value]) => `${name}: ${value}`)].join("\n");
}

/** With styles in the elements, because many mail programs drop style sheets. */
async function toHtml(receipts: Receipt[]): Promise<string> {
  const parts = receipts.map(({ language, title, texts, facts }) =>
    html`<section lang="${language}">
<h1 style="font-size: 1.3em">${title}</h1>
${texts.map((text) => html`<p>${text}</p>`)}
<table role="presentation" cellpadding="4">${
      facts.map(([name, value]) =>
        html`
          <tr>
            <td>${name}</td>
            <td>${value}</td>
          </tr>
        `
      )
    }</table>
</section>`
  );
  const page = await html`
    <!doctype html>
    <html lang="${receipts[0]!.language}">
      <head>
        <meta charset="utf-8">
        <title>${receipts[0]!.title}</title>
      </head>
      <body style="font-family: sans-serif; max-width: 40em">${parts}</body>
    </html>
  `;
  return String(page);
}
