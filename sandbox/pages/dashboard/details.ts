/** Details of a transaction: its status response and its webhooks. */

import { html } from "hono/html";
import { statusResponse } from "../../charges/responses.ts";
import { formatWib } from "../../engine/time.ts";
import type { Transaction } from "../../world/transaction.ts";
import type { Webhook } from "../../world/webhook.ts";
import type { World } from "../../world/world.ts";
import type { Markup } from "../shared/layout.ts";
import { webhooksOf } from "./table.ts";

export function details(world: World, transaction: Transaction): Markup {
  const webhooks = [...webhooksOf(world, transaction)];
  return html`
    <section>
      <h2>Payment: <span class="badge ${transaction.status}">${transaction.status}</span></h2>
      <pre tabindex="0">${pretty(statusResponse(world, transaction))}</pre>
      <p><a href="/pay/${transaction.id}">Customer payment page</a></p>
    </section>
    <section>
      <h2>Webhooks</h2>
      ${webhooks.length === 0
        ? html`<p class="hint">None: no webhook URL was set.</p>`
        : webhooks.map(webhookDetails)}
    </section>
  `;
}

function webhookDetails(webhook: Webhook): Markup {
  const { id, event, state, url, attempts, nextAt, payload } = webhook;
  return html`
    <article>
      <header>
        <h3>Webhook about “${event}”: <span class="state ${state}">${state}</span></h3>
        <button data-post="/_sandbox/webhooks/${id}/resend" data-key="resend ${id}">Resend</button>
      </header>
      <p class="address">${url}</p>
      <ol>
        ${attempts.map((attempt) =>
          html`<li>${formatWib(attempt.at)} WIB: ${
            attempt.status === null ? "no response" : `HTTP ${attempt.status}`
          } <code>${attempt.answer}</code></li>`
        )}
      </ol>
      ${nextAt !== null && html`<p class="hint">Next attempt: ${formatWib(nextAt)} WIB</p>`}
      <details>
        <summary data-key="payload ${id}">Payload</summary>
        <pre tabindex="0">${pretty(JSON.parse(payload))}</pre>
      </details>
    </article>
  `;
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
