/** What a merchant's software has to be told to speak to this sandbox. */

import { html } from "hono/html";
import type { Identity } from "../../world/world.ts";
import type { Markup } from "../layout.ts";

/** Entries of a list, to which others may be added. */
export function addressAndKeys({ merchant, publicUrl }: Identity): Markup {
  return html`
    <div>
      <dt>Address</dt>
      <dd><code>${publicUrl()}</code></dd>
    </div>
    <div>
      <dt>Server key</dt>
      <dd><code>${merchant.serverKey}</code></dd>
    </div>
    <div>
      <dt>Client key</dt>
      <dd><code>${merchant.clientKey}</code></dd>
    </div>
  `;
}
