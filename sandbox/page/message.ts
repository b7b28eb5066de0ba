/** A page that says one thing and shows the way out. */

import type { Context } from "hono";
import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { render } from "./layout.ts";

export function message(c: Context, title: string, text: string, status: ContentfulStatusCode) {
  return render(c, {
    title,
    status,
    body: html`
      <section class="card screen">
        <h1>${title}</h1>
        <p>${text}</p>
        <p><a href="/">All transactions</a></p>
      </section>
    `,
  });
}
