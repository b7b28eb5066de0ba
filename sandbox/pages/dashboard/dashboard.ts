/** `/` and `/transactions/{id}`: the live list of transactions, and one transaction. */

import type { Hono } from "hono";
import { html } from "hono/html";
import { Refusal } from "../../http/refusal.ts";
import { STATUSES } from "../../world/transaction.ts";
import type { OpenWorld, World } from "../../world/world.ts";
import { type Markup, render } from "../shared/layout.ts";
import { details } from "./details.ts";
import { connectionDetails, panels } from "./panels.ts";
import { type Filter, findRows, MAX_ROWS, type Row, table } from "./table.ts";

export function addDashboard(pages: Hono, world: OpenWorld): void {
  pages.get("/", (c) => {
    const filter = { order: c.req.query("order") ?? "", status: c.req.query("status") ?? "" };
    const rows = findRows(world, filter);
    return render(c, {
      title: "Transactions",
      hasScript: true,
      body: html`
        <header class="top">
                <h1>Transactions</h1>
        <span id="count" class="hint" data-live>${count(world, rows)}</span>
                <span id="connection" class="hint" role="status">Connecting…</span>
                ${filterForm(filter)}
              </header>
        <noscript><p class="wrong">Enable JavaScript to see changes without reloading.</p></noscript>
        <div class="columns">
          <section aria-label="Transactions">
            <div id="transactions" data-live>${list(world, rows)}</div>
          </section>
          <aside aria-label="Controls">${panels(world)}</aside>
        </div>
        <div id="notices" role="status" aria-live="polite"></div>
      `,
    });
  });

  pages.get("/transactions/:id", (c) => {
    const transaction = world.transactions.get(c.req.param("id"));
    if (!transaction) throw new Refusal(404);
    return render(c, {
      title: transaction.orderId,
      hasScript: true,
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

function count(world: OpenWorld, { length }: Row[]): string {
  const { size } = world.transactions;
  if (size === 0) return "";
  return length === MAX_ROWS && size > length
    ? `Latest ${length} of ${size}`
    : length === size
    ? `${size} total`
    : `${length} of ${size}`;
}

function list(world: OpenWorld, rows: Row[]): Markup {
  if (world.transactions.size === 0) return firstCharge(world);
  if (rows.length > 0) return table(rows);
  return html`<p class="card empty">No matching transactions</p>`;
}

function firstCharge(world: World): Markup {
  return html`
    <section class="card empty">
      <h2>No transactions yet</h2>
      <p>Run this command in a terminal. The transaction appears here automatically:</p>
      <pre id="curl" tabindex="0">${curl(world)}</pre>
      <p><button data-copy="curl" data-key="copy">Copy</button></p>
      <dl class="keys">
        ${connectionDetails(world)}
        <div>
          <dt>Test card (accepted)</dt>
          <dd><code>4811 1111 1111 1114</code></dd>
        </div>
        <div>
          <dt>CVV and OTP</dt>
          <dd><code>123</code> and <code>112233</code></dd>
        </div>
      </dl>
    </section>
  `;
}

function curl({ merchant, publicUrl }: World): string {
  const body = JSON.stringify({
    payment_type: "bank_transfer",
    transaction_details: { order_id: "my-first-order", gross_amount: 44_000 },
    bank_transfer: { bank: "bca" },
  });
  return [
    `curl ${quote(`${publicUrl()}/v2/charge`)}`,
    `-u ${quote(`${merchant.serverKey}:`)}`,
    "-H 'Content-Type: application/json'",
    `-d ${quote(body)}`,
  ].join(" \\\n  ");
}

/** Quotes text for a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
