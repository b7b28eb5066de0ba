/** What all pages have around them: the strip, the styles, and a policy that lets nothing else in. */

import type { Context, MiddlewareHandler } from "hono";
import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { bodyLimit } from "hono/body-limit";
import { every } from "hono/combine";
import { isFromElsewhere } from "../../http/request.ts";
import type { Identity } from "../../world/world.ts";

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

export function ownForm(world: Identity): MiddlewareHandler {
  return every(sameOrigin(world), bodyLimit({ maxSize: 10_000 }));
}

function sameOrigin(world: Identity): MiddlewareHandler {
  return async (c, next) => {
    if (!isFromElsewhere(c.req.raw.headers, world.publicUrl())) return await next();
    return message(c, "Not from here", "Another site tried to press this button for you.", 403);
  };
}

/** A field of the form; what is missing, or no text, is empty. */
export async function readField(c: Context, name: string): Promise<string> {
  const value = (await c.req.parseBody())[name];
  return typeof value === "string" ? value.trim() : "";
}

/** Only the web's own: a `javascript:` address would run with the rights of the page. */
export function safeUrl(address: unknown): URL | null {
  const url = typeof address === "string" ? URL.parse(address) : null;
  return url && /^https?:$/.test(url.protocol) ? url : null;
}
