/** Shared parts of all pages: layout and security headers, message page, forms, links. */

import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { every } from "hono/combine";
import { html } from "hono/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { isCrossOrigin } from "../../http/request.ts";
import type { SnapLanguage } from "../../world/records.ts";
import type { Identity } from "../../world/world.ts";

/** HTML in which every inserted value is escaped. */
export type Markup = ReturnType<typeof html> | "";

export interface Page {
  title: string;
  body: Markup;
  status?: ContentfulStatusCode;
  /** The wide layout of the dashboard, with its script. */
  isDashboard?: boolean;
  /** Script of a page that does not use the dashboard's script. */
  script?: "three_ds" | "copy" | "snap_page";
  /** Whether other sites may show the page in a frame. */
  canBeFramed?: boolean;
  /** The origin of another site to which the page sends a form. */
  formTarget?: string;
  language?: SnapLanguage;
}

const STRIP: Record<SnapLanguage, string> = {
  en: "no real payments",
  id: "bukan pembayaran sungguhan",
};

const SKIP: Record<SnapLanguage, string> = {
  en: "Skip to the content",
  id: "Langsung ke isi halaman",
};

function policyFor({ canBeFramed, formTarget }: Page): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    `form-action 'self'${formTarget ? ` ${formTarget}` : ""}`,
    "base-uri 'none'",
    `frame-ancestors ${canBeFramed ? "*" : "'none'"}`,
  ].join("; ");
}

export function render(c: Context, options: Page) {
  const { title, body, status = 200, isDashboard = false, language = "en" } = options;
  const script = isDashboard ? "sandbox" : options.script;
  const page = html`
    <!DOCTYPE html>
    <html lang="${language}">
      <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>${title} · Sandbox</title>
            <link rel="icon" href="/favicon.ico" type="image/svg+xml">
            <link rel="stylesheet" href="/assets/sandbox.css">
            ${script && html`<script src="/assets/${script}.js" type="module"></script>`}
          </head>
      <body>
        <a class="skip" href="#main">${SKIP[language]}</a>
        <header class="strip"><a href="/" ${options.canBeFramed &&
          "target=_top"}>Sandbox</a>: ${STRIP[language]}</header>
        <main id="main" class="${isDashboard ? "wide" : "narrow"}">${body}</main>
      </body>
    </html>
  `;
  return c.html(page, status, {
    "Content-Security-Policy": policyFor(options),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
  });
}

/** A page with one message and a link to the dashboard. */
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

/** Accepts only short forms, and only from the sandbox's own pages. */
export function sameOriginForm(world: Identity): MiddlewareHandler {
  return every(sameOrigin(world), bodyLimit({ maxSize: 10_000 }));
}

function sameOrigin(world: Identity): MiddlewareHandler {
  return async (c, next) => {
    if (!isCrossOrigin(c.req.raw.headers, world.publicUrl())) return await next();
    return message(c, "Request blocked", "The form was submitted from another site.", 403);
  };
}

/** A form field; empty if it is missing or not text. */
export async function readField(c: Context, name: string): Promise<string> {
  const value = (await c.req.parseBody())[name];
  return typeof value === "string" ? value.trim() : "";
}

/** Only http and https URLs may be linked: a `javascript:` URL would run with the page's rights. */
export function safeUrl(value: unknown): URL | null {
  const url = typeof value === "string" ? URL.parse(value) : null;
  return url && /^https?:$/.test(url.protocol) ? url : null;
}
