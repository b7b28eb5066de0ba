/** The list itself: a row for each transaction, with the buttons its state allows. */

import { html } from "hono/html";
import { isWaitingForThreeDs } from "../../cards/authorization.ts";
import { type HappeningName, HAPPENINGS } from "../../charges/simulate.ts";
import { wib } from "../../engine/time.ts";
import type { Transaction } from "../../world/transaction.ts";
import type { Webhook } from "../../world/webhook.ts";
import type { World } from "../../world/world.ts";
import { METHOD_NAMES, methodDetail, rupiah } from "../shared/format.ts";
import type { Markup } from "../shared/layout.ts";

export function table(rows: Row[]): Markup {
  return html`
    <table class="transactions">
      <thead>
        <tr>
          <th scope="col">Order</th>
          <th scope="col">Method</th>
          <th scope="col" class="number">Amount</th>
          <th scope="col">Status</th>
          <th scope="col">Webhook</th>
          <th scope="col">What happens</th>
        </tr>
      </thead>
      ${rows.map(group)}
    </table>
  `;
}

/** Each in a body of its own, which has room for the details below the row. */
function group({ transaction, webhook }: Row): Markup {
  const { id, orderId, method, amount, status, fraud, createdAt } = transaction;
  return html`
    <tbody id="t-${id}">
      <tr>
        <td>
          <a href="/transactions/${id}" data-open="${id}"
            data-key="open ${id}">${orderId}</a>
          <small>${wib(createdAt)} WIB</small>
        </td>
        <td>${METHOD_NAMES[method]}<small>${methodDetail(transaction)}</small></td>
        <td class="number">${rupiah(amount)}</td>
        <td>
          <span class="badge ${status}">${status}</span>
          ${fraud === "challenge" && html`<small>challenge</small>`}
        </td>
        <td>${webhook ? lastWebhook(webhook) : html`<span class="hint">none</span>`}</td>
        <td>
          <div class="actions">${buttons(transaction)}</div>
        </td>
      </tr>
    </tbody>
  `;
}

function lastWebhook({ state, event, attempts }: Webhook): Markup {
  const answer = attempts.length > 0 && ` · ${attempts.at(-1)!.status ?? "no answer"}`;
  return html`
    <span class="state ${state}">${state}${answer}</span>
    <small>${event}</small>
  `;
}

function buttons(transaction: Transaction): Markup {
  const { id, orderId, method } = transaction;
  const screen = method === "credit_card" ? "3-D Secure page" : "Payment screen";
  return html`
    ${actionsOf(transaction).map(({ label, happening, body }) =>
      html`
        <button
          data-post="/_sandbox/transactions/${id}/${happening}"
          data-body="${JSON.stringify(body ?? {})}"
          data-key="${label} ${id}"
          aria-label="${label} ${orderId}"
        >${label}</button>
      `
    )}
    ${transaction.status === "pending" &&
      html`
        <a href="/pay/${id}" data-key="screen ${id}"
          aria-label="${screen} of ${orderId}">${screen}</a>
      `}
  `;
}

export interface RowAction {
  label: string;
  /** Its name in the control API. */
  happening: HappeningName;
  body?: Record<string, unknown>;
}

const ACTIONS: RowAction[] = [
  { label: "Pay", happening: "pay" },
  { label: "Finish 3DS", happening: "three_ds", body: { result: "success" } },
  { label: "Fail 3DS", happening: "three_ds", body: { result: "failure" } },
  { label: "Deny", happening: "deny" },
  { label: "Expire", happening: "expire" },
  { label: "Settle", happening: "settle" },
  { label: "Chargeback", happening: "chargeback" },
  { label: "Reverse", happening: "reverse" },
  { label: "Confirm refund", happening: "confirm_refund" },
];

export function actionsOf(transaction: Transaction): RowAction[] {
  // Finishing and failing 3-D Secure are how a card is paid and denied.
  const sameByOtherNames = isWaitingForThreeDs(transaction) ? ["pay", "deny"] : [];
  return ACTIONS.filter(({ happening }) =>
    HAPPENINGS[happening].can(transaction) && !sameByOtherNames.includes(happening)
  );
}

export interface Filter {
  /** Any part of the order's id; empty: all. */
  order: string;
  status: string;
}

export interface Row {
  transaction: Transaction;
  webhook: Webhook | undefined;
}

/** More than anybody reads at once. */
export const MAX_ROWS = 100;

export function findRows(world: World, { order, status }: Filter): Row[] {
  const wanted = order.trim().toLowerCase();
  const found: Transaction[] = [];
  for (const transaction of world.transactions.newest()) {
    if (status && transaction.status !== status) continue;
    if (wanted && !transaction.orderId.toLowerCase().includes(wanted)) continue;
    found.push(transaction);
    if (found.length >= MAX_ROWS) break;
  }
  const webhooks = lastWebhooks(world, found);
  return found.map((transaction) => ({ transaction, webhook: webhooks.get(transaction.id) }));
}

/** All that told of a transaction, the latest first. */
export function webhooksOf(world: World, { id, createdAt }: Transaction): Webhook[] {
  const found: Webhook[] = [];
  for (const webhook of world.webhooks.newest()) {
    if (webhook.createdAt < createdAt) break;
    if (webhook.transactionId === id) found.push(webhook);
  }
  return found;
}

function lastWebhooks(world: World, transactions: Transaction[]): Map<string, Webhook> {
  const missing = new Set(transactions.map(({ id }) => id));
  // Older than the oldest transaction, none can be of any of them.
  const since = transactions.at(-1)?.createdAt ?? 0;
  const found = new Map<string, Webhook>();
  for (const webhook of world.webhooks.newest()) {
    if (missing.size === 0 || webhook.createdAt < since) break;
    const id = webhook.transactionId ?? "";
    if (missing.delete(id)) found.set(id, webhook);
  }
  return found;
}
