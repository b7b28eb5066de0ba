/** What all pages have around them: the strip, the styles, and a policy that lets nothing else in. */

import type { Context } from "hono";
import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";

/** Markup whose every insertion was escaped. */
export type Markup = ReturnType<typeof html> | "";

export interface Page {
  title: string;
  body: Markup;
  status?: ContentfulStatusCode;
  /** The customer's screens do without. */
  hasScript?: boolean;
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "Content-Security-Policy": POLICY,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "same-origin",
  "Cache-Control": "no-store",
};

export function render(c: Context, { title, body, status = 200, hasScript = false }: Page) {
  const page = html`
    <!DOCTYPE html>
    <html lang="en">
      <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>${title} · Sandbox</title>
            <link rel="icon" href="/favicon.ico" type="image/svg+xml">
            <link rel="stylesheet" href="/assets/sandbox.css">
            ${hasScript && html`<script src="/assets/sandbox.js" type="module"></script>`}
          </head>
      <body>
        <p class="strip"><a href="/">Sandbox</a>: no money moves here</p>
        <main class="${hasScript ? "wide" : "narrow"}">${body}</main>
      </body>
    </html>
  `;
  return c.html(page, status, HEADERS);
}
