/** The frame of a customer's screen: who asks for how much, what to know, what to do. */

import { html } from "hono/html";
import type { Markup } from "../layout.ts";

export interface Screen {
  /** Whose screen it is: the bank, the store, the wallet. */
  brand: string;
  title: string;
  facts: [label: string, value: Markup | string][];
  body: Markup;
}

export function screen({ brand, title, facts, body }: Screen): Markup {
  return html`
    <section class="card screen">
      <p class="brand">${brand}</p>
      <h1>${title}</h1>
      <dl>
        ${facts.map(([label, value]) =>
          html`
            <div>
              <dt>${label}</dt>
              <dd>${value}</dd>
            </div>
          `
        )}
      </dl>
      ${body}
    </section>
  `;
}

/** Digits a customer copies by eye, long ones in groups of four. */
export function digits(number: unknown): Markup {
  const text = String(number);
  const groups = text.length > 6 ? text.match(/.{1,4}/g)! : [text];
  return html`<span class="digits">${groups.map((group) => html`<span>${group}</span>`)}</span>`;
}

/** A secret of six digits, which a sandbox tells. */
export function codeField(name: string, label: string, code: string, isWrong: boolean): Markup {
  const described = isWrong ? `${name}-hint ${name}-wrong` : `${name}-hint`;
  return html`
    <label for="${name}">${label}</label>
    <input
      id="${name}"
      name="${name}"
      class="code"
      inputmode="numeric"
      autocomplete="one-time-code"
      maxlength="6"
      required
      autofocus
      aria-describedby="${described}"
      aria-invalid="${isWrong ? "true" : "false"}"
    >
    ${isWrong &&
      html`<p id="${name}-wrong" class="wrong" role="alert">That was not it. Try again.</p>`}
    <p id="${name}-hint" class="hint">In the sandbox it is always <strong>${code}</strong>.</p>
  `;
}
