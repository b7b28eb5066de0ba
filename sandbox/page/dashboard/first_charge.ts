/** What the list says as long as it is empty: how to make a first charge. */

import { html } from "hono/html";
import type { World } from "../../world/world.ts";
import type { Markup } from "../layout.ts";
import { addressAndKeys } from "./address_and_keys.ts";

export function firstCharge(world: World): Markup {
  return html`
    <section class="card empty">
      <h2>No transaction yet</h2>
      <p>Paste this into a terminal, and the first one appears here by itself:</p>
      <pre id="curl" tabindex="0">${curl(world)}</pre>
      <p><button data-copy="curl" data-key="copy">Copy</button></p>
      <dl class="keys">
        ${addressAndKeys(world)}
        <div>
          <dt>Card that works</dt>
          <dd><code>4811 1111 1111 1114</code></dd>
        </div>
        <div>
          <dt>Its CVV and OTP</dt>
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

/** For a shell, which takes everything between single quotes as it is. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
