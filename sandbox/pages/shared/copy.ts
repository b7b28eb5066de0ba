/** A button that copies a value. `copy.js` handles the click. */

import { html } from "hono/html";
import type { Markup } from "./layout.ts";

/** `name` says what is copied, such as "account number". */
export function copyButton(name: string, value: string): Markup {
  return html`
    <button
      type="button"
      class="copy"
      data-copy="${value}"
      data-key="copy ${name} ${value}"
      aria-label="Copy ${name}"
    >Copy</button>
  `;
}

/** A value with its button. */
export function copyable(name: string, value: string, shown: Markup | string = value): Markup {
  return html`<span class="copyable"><code>${shown}</code> ${copyButton(name, value)}</span>`;
}
