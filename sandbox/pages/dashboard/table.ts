/** The list: one row per transaction, with its latest webhook and the possible actions. */

import { html } from "hono/html";
import { isWaitingForThreeDs } from "../../cards/authorization.ts";
import { SIMULATED_ACTIONS, type SimulatedActionName } from "../../charges/simulate.ts";
import { first } from "../../engine/store.ts";
import { formatWib } from "../../engine/time.ts";
import type { Transaction } from "../../world/transaction.ts";
import type { Webhook } from "../../world/webhook.ts";
import type { World } from "../../world/world.ts";
import { copyButton } from "../shared/copy.ts";
import { formatRupiah, METHOD_NAMES, methodDetail } from "../shared/format.ts";
import type { Markup } from "../shared/layout.ts";
import { MAX_ROWS, rowButton } from "./frame.ts";

export interface Filter {
  /** Part of the order id; empty matches all. */
  order: string;
  status: string;
}

export interface Row {
  transaction: Transaction;
  webhook: Webhook | undefined;
}

export function findRows(world: World, { order, status }: Filter): Row[] {
  const { transactions } = world;
  const candidates = order.trim()
    ? transactions.search("order:", order.trim())
    : status
    ? transactions.find(`status:${status}`)
    : transactions.newest();
  return Iterator.from(candidates)
    .filter((transaction) => !status || transaction.status === status)
    .take(MAX_ROWS)
    .map((transaction) => ({ transaction, webhook: first(webhooksOf(world, transaction)) }))
    .toArray();
}

/** All webhooks of a transaction, newest first. */
export function webhooksOf(world: World, { id }: Transaction): Iterable<Webhook> {
  return world.webhooks.find(`transaction:${id}`);
}

export function table(rows: Row[]): Markup {
  return html`
    <table class="transactions">
      <thead>
        <tr>
          <th scope="col">Order</th>
          <th scope="col">Method</th>
          <th scope="col" class="number">Amount</th>
          <th scope="col">Payment</th>
          <th scope="col">Latest webhook</th>
          <th scope="col">Actions</th>
        </tr>
      </thead>
      ${rows.map(tableRow)}
    </table>
  `;
}

/** Each transaction is a `<tbody>`, so that its details can be a second row. */
function tableRow({ transaction, webhook }: Row): Markup {
  const { id, orderId, method, amount, status, fraud, createdAt } = transaction;
  return html`
    <tbody id="t-${id}">
      <tr>
        <td>
          <a href="/transactions/${id}" data-open="${id}"
            data-key="open ${id}">${orderId}</a>
          <small>${formatWib(createdAt)} WIB</small>
        </td>
        <td>
          ${METHOD_NAMES[method]}<small>${methodDetail(transaction)}</small>
          ${numberOf(transaction)}
        </td>
        <td class="number">${formatRupiah(amount)}</td>
        <td>
          <span class="label">Payment:</span> <span class="badge ${status}">${status}</span>
          ${fraud === "challenge" && html`<small>challenge</small>`}
        </td>
        <td>
          <span class="label">Webhook:</span>
          ${webhook ? lastWebhook(webhook) : html`<span class="hint">none</span>`}
        </td>
        <td>
          <div class="actions">${rowButtons(transaction)}</div>
        </td>
      </tr>
    </tbody>
  `;
}

/** The number that the customer enters to pay, with a copy button. */
function numberOf({ status, details }: Transaction): Markup {
  if (status !== "pending" || !details.number) return "";
  const number = String(details.number);
  return html`<small class="copyable">${number} ${copyButton("payment number", number)}</small>`;
}

function lastWebhook({ state, event, attempts }: Webhook): Markup {
  const result = attempts.length > 0 && ` · ${attempts.at(-1)!.status ?? "no response"}`;
  return html`
    <span class="state ${state}">${state}${result}</span>
    <small>about “${event}”</small>
  `;
}

function rowButtons(transaction: Transaction): Markup {
  const { id, orderId, method } = transaction;
  const screen = method === "credit_card" ? "3-D Secure page" : "Payment screen";
  return html`
    ${actionsOf(transaction).map(({ label, action, body }) =>
      rowButton({ label, path: `transactions/${id}/${action}`, body }, id, orderId)
    )}
    ${transaction.status === "pending" &&
      html`
        <a href="/pay/${id}" data-key="screen ${id}"
          aria-label="${screen} of ${orderId}">${screen}</a>
      `}
  `;
}

interface RowAction {
  label: string;
  /** Name in the control API. */
  action: SimulatedActionName;
  body?: Record<string, unknown>;
}

const ACTIONS: RowAction[] = [
  { label: "Pay", action: "pay" },
  { label: "Finish 3DS", action: "three_ds", body: { result: "success" } },
  { label: "Fail 3DS", action: "three_ds", body: { result: "failure" } },
  { label: "Approve", action: "approve" },
  { label: "Deny", action: "deny" },
  { label: "Capture", action: "capture" },
  { label: "Expire", action: "expire" },
  { label: "Settle", action: "settle" },
  { label: "Chargeback", action: "chargeback" },
  { label: "Reverse", action: "reverse" },
  { label: "Confirm refund", action: "confirm_refund" },
];

function actionsOf(transaction: Transaction): RowAction[] {
  // For cards, finishing and failing 3-D Secure are the same as paying and denying.
  const duplicates = isWaitingForThreeDs(transaction) ? ["pay", "deny"] : [];
  return ACTIONS.filter(({ action }) =>
    SIMULATED_ACTIONS[action].isPossible(transaction) && !duplicates.includes(action)
  );
}
