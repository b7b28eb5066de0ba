/** `/subscriptions`: the live list of subscriptions, with the possible actions of each. */

import type { Hono } from "hono";
import { html } from "hono/html";
import type { Subscription } from "../../world/records.ts";
import type { OpenWorld } from "../../world/world.ts";
import { formatRupiah, formatTime, METHOD_NAMES } from "../shared/format.ts";
import type { Markup } from "../shared/layout.ts";
import { describeCount, MAX_ROWS, renderList, type RowButton, rowButton } from "./frame.ts";

export function addSubscriptionList(pages: Hono, world: OpenWorld): void {
  pages.get("/subscriptions", (c) => {
    const shown = Iterator.from(world.subscriptions.newest()).take(MAX_ROWS).toArray();
    return renderList(c, world, {
      title: "Subscriptions",
      count: describeCount(shown.length, world.subscriptions.size),
      list: shown.length > 0 ? table(shown) : html`
        <p class="card empty">No subscriptions yet. They appear here when they are created.</p>
      `,
    });
  });
}

function table(subscriptions: Subscription[]): Markup {
  return html`
    <table class="transactions subscriptions">
      <thead>
        <tr>
          <th scope="col">Subscription</th>
          <th scope="col">Schedule</th>
          <th scope="col" class="number">Amount</th>
          <th scope="col">Status</th>
          <th scope="col">Next charge</th>
          <th scope="col">Actions</th>
        </tr>
      </thead>
      ${subscriptions.map(tableRow)}
    </table>
  `;
}

function tableRow(subscription: Subscription): Markup {
  const { id, name, amount, status, paymentType, isCancelled, transactionIds } = subscription;
  const last = transactionIds.at(-1);
  return html`
    <tbody id="s-${id}">
      <tr>
        <td>
          <strong>${name}</strong>
          <small class="id">${id}</small>
        </td>
        <td>${METHOD_NAMES[paymentType]}<small>${describeSchedule(subscription)}</small></td>
        <td class="number">${formatRupiah(amount)}</td>
        <td>
          <span class="badge ${status}">${status}</span>
          ${isCancelled && html`<small>cancelled</small>`}
        </td>
        <td>
          <span class="label">Next charge:</span> <small>${describeNext(subscription)}</small>
        </td>
        <td>
          <div class="actions">
            ${buttonsOf(subscription).map((button) => rowButton(button, id, name))}
            ${last && html`
              <a href="/transactions/${last}" data-key="last ${id}"
                aria-label="Last charge of ${name}">Last charge</a>
            `}
          </div>
        </td>
      </tr>
    </tbody>
  `;
}

function describeSchedule({ schedule }: Subscription): string {
  const { interval, unit, current, maxInterval } = schedule;
  const every = interval === 1 ? `every ${unit}` : `every ${interval} ${unit}s`;
  return `${every}, cycles started: ${current}${
    maxInterval === null ? "" : ` of ${Math.max(1, maxInterval)}`
  }`;
}

function describeNext({ status, schedule, retrying }: Subscription): string {
  if (retrying) return `retry ${retrying.count}: ${formatTime(retrying.nextAt)}`;
  return status === "active" && schedule.nextAt !== null ? formatTime(schedule.nextAt) : "none";
}

function buttonsOf({ id, status, isCancelled, retrying }: Subscription): RowButton[] {
  const path = `subscriptions/${id}`;
  const isActive = status === "active";
  return [
    ...isActive || retrying ? [{ label: "Charge now", path: `${path}/run` }] : [],
    ...isActive ? [{ label: "Disable", path: `${path}/disable` }] : [],
    ...isActive || isCancelled ? [] : [{ label: "Enable", path: `${path}/enable` }],
    ...isCancelled ? [] : [{ label: "Cancel", path: `${path}/cancel` }],
  ];
}
