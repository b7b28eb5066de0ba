/** The frame of the lists: tabs, connection state, control panels, notices. */

import type { Context } from "hono";
import { html } from "hono/html";
import type { OpenWorld } from "../../world/world.ts";
import { type Markup, render } from "../shared/layout.ts";
import { panels } from "./panels.ts";

const TABS: [path: string, title: string][] = [
  ["/", "Transactions"],
  ["/invoices", "Invoices"],
  ["/subscriptions", "Subscriptions"],
];

/** Maximum number of rows that a list shows. */
export const MAX_ROWS = 100;

export interface ListPage {
  /** One of the titles of the tabs. */
  title: string;
  count: string;
  filter?: Markup;
  list: Markup;
}

export function renderList(c: Context, world: OpenWorld, { title, count, filter, list }: ListPage) {
  return render(c, {
    title,
    isDashboard: true,
    body: html`
      <header class="top">
        <h1>${title}</h1>
        <span id="count" class="hint" data-live>${count}</span>
        <span id="connection" class="hint" role="status">Connecting…</span>
        ${filter ?? ""}
      </header>
      <nav class="tabs" aria-label="Lists">
        ${TABS.map(([path, tab]) =>
          html`<a href="${path}" ${tab === title && html`aria-current="page"`}>${tab}</a>`
        )}
      </nav>
      <noscript><p class="wrong">Enable JavaScript to see changes without reloading.</p></noscript>
      <div class="columns">
        <section aria-label="${title}">
          <div id="list" data-live>${list}</div>
        </section>
        <aside aria-label="Controls">${panels(world)}</aside>
      </div>
      <div id="notices" role="status" aria-live="polite"></div>
    `,
  });
}

/** Says how many of the `size` records are shown. */
export function describeCount(shown: number, size: number): string {
  if (size === 0) return "";
  if (shown === MAX_ROWS && size > shown) return `Latest ${shown} of ${size}`;
  return shown === size ? `${size} total` : `${shown} of ${size}`;
}

export interface RowButton {
  label: string;
  /** Path in the control API. */
  path: string;
  body?: Record<string, unknown>;
}

/** `key` identifies the row; `name` is the name of the row that users see. */
export function rowButton({ label, path, body = {} }: RowButton, key: string, name: string) {
  return html`
    <button
      data-post="/_sandbox/${path}"
      data-body="${JSON.stringify(body)}"
      data-key="${label} ${key}"
      aria-label="${label} ${name}"
    >${label}</button>
  `;
}
