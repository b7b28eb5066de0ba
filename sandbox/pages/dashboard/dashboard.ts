/** `/` and `/transactions/{id}`: the live list of transactions, and one transaction. */

import type { Hono } from "hono";
import { html } from "hono/html";
import { Refusal } from "../../http/refusal.ts";
import { STATUSES } from "../../world/transaction.ts";
import type { OpenWorld, World } from "../../world/world.ts";
import { copyButton } from "../shared/copy.ts";
import { type Markup, render } from "../shared/layout.ts";
import { details } from "./details.ts";
import { describeCount, renderList } from "./frame.ts";
import { connectionDetails, testCards } from "./panels.ts";
import { type Filter, findRows, type Row, table } from "./table.ts";

export function addDashboard(pages: Hono, world: OpenWorld): void {
  pages.get("/", (c) => {
    const filter = { order: c.req.query("order") ?? "", status: c.req.query("status") ?? "" };
    const rows = findRows(world, filter);
    return renderList(c, world, {
      title: "Transactions",
      count: describeCount(rows.length, world.transactions.size),
      filter: filterForm(filter),
      list: list(world, rows),
    });
  });

  pages.get("/transactions/:id", (c) => {
    const transaction = world.transactions.get(c.req.param("id"));
    if (!transaction) throw new Refusal(404);
    return render(c, {
      title: transaction.orderId,
      isDashboard: true,
      body: html`
        <header class="top">
          <h1>${transaction.orderId}</h1>
        </header>
        <div id="details" class="details" data-live>${details(world, transaction)}</div>
        <p><a href="/">All transactions</a></p>
        <div id="notices" role="status" aria-live="polite"></div>
      `,
    });
  });
}

function filterForm({ order, status }: Filter): Markup {
  return html`
    <form id="filter" class="filter" role="search">
      <label for="order">Order</label>
      <input id="order" name="order" type="search" value="${order}" placeholder="Order ID contains…">
      <label for="status">Status</label>
      <select id="status" name="status">
        <option value="">Any</option>
        ${STATUSES.map((each) =>
          html`<option value="${each}" ${each === status && "selected"}>${each}</option>`
        )}
      </select>
      <noscript><button>Filter</button></noscript>
    </form>
  `;
}

function list(world: OpenWorld, rows: Row[]): Markup {
  if (world.transactions.size === 0) return firstCharge(world);
  if (rows.length > 0) return table(rows);
  return html`<p class="card empty">No matching transactions</p>`;
}

function firstCharge(world: World): Markup {
  const command = world.service ? serviceCurl(world.service) : sandboxCurl(world);
  return html`
    <section class="card empty">
      <h2>No transactions yet</h2>
      <p>Run this command in a terminal. The transaction appears here automatically:</p>
      <pre id="curl" tabindex="0">${command}</pre>
      <p>${copyButton("command", command)}</p>
      ${world.service && html`
        <p class="hint">The command calls the service at ${world.service.url}, which calls this
          sandbox${world.service.key === null && ". Replace gk_… with your API key"}.</p>
      `}
      <dl class="keys">${connectionDetails(world)} ${testCards()}</dl>
    </section>
  `;
}

/** The command that the service prints at startup. */
function serviceCurl({ url, key }: NonNullable<World["service"]>): string {
  const body = { payment_type: "bank_transfer", bank: "bca", gross_amount: 44_000 };
  return curl(`${url}/charge/`, `-H ${quote(`Authorization: Bearer ${key ?? "gk_…"}`)}`, body);
}

function sandboxCurl({ merchant, publicUrl }: World): string {
  return curl(`${publicUrl()}/v2/charge`, `-u ${quote(`${merchant.serverKey}:`)}`, {
    payment_type: "bank_transfer",
    transaction_details: { order_id: "my-first-order", gross_amount: 44_000 },
    bank_transfer: { bank: "bca" },
  });
}

function curl(url: string, authorization: string, body: unknown): string {
  return [
    `curl ${quote(url)}`,
    authorization,
    "-H 'Content-Type: application/json'",
    `-d ${quote(JSON.stringify(body))}`,
  ].join(" \\\n  ");
}

/** Quotes text for a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
