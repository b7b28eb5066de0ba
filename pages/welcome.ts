/**
 * `GET /` and `/guides/`: a welcome page, an index for programs, and the guides. All are public.
 */

import { type Context, Hono } from "hono";
import { ServiceError } from "../core/errors.ts";
import { VERSION } from "../openapi/document.ts";
import { createFixedResponse } from "../openapi/fixed_response.ts";
import { GUIDE_PATHS, PICTURES, renderGuide } from "./guides.ts";
import { type Demo, renderDemo, requireOwnForm } from "./demo.ts";
import { escapeHtml, PAGE_HEADERS, renderPage } from "./page.ts";

export interface WelcomeOptions {
  basePath: string;
  /** The URL of the sandbox; null: no sandbox runs with the service. */
  sandboxUrl: string | null;
  /** Null except in the embedded default. */
  demo: Demo | null;
}

export function createWelcomePages({ basePath, sandboxUrl, demo }: WelcomeOptions): Hono {
  const router = new Hono();

  router.get("/", async (c) => {
    // The same address has two representations.
    c.header("Vary", "Accept");
    if (!prefersHtml(c.req.header("accept"))) return c.json(indexOf(basePath, sandboxUrl));
    const html = welcome(basePath, serviceUrl(c, basePath), sandboxUrl);
    const state = await demo?.state();
    if (!state) return page(c, TITLE, html);
    // The page has no script, so it loads itself again.
    if (state.status === "running") c.header("Refresh", "2");
    return page(c, TITLE, html + renderDemo(state, basePath), WITH_FORM);
  });

  if (demo) {
    router.post("/demo/", (c) => {
      requireOwnForm(c);
      demo.start();
      return c.redirect(`${basePath}/`, 303);
    });
  }

  router.get(
    "/guides/style.css/",
    createFixedResponse({
      contentType: "text/css; charset=utf-8",
      cacheControl: "no-cache",
      text: async () => (await import("./style.css", { with: { type: "text" } })).default,
    }),
  );

  for (const [path, load] of Object.entries(PICTURES)) {
    router.get(
      `/guides/${path}/`,
      createFixedResponse({
        contentType: "image/png",
        cacheControl: "no-cache",
        text: async () => (await load()).default,
      }),
    );
  }

  for (const path of GUIDE_PATHS) {
    router.get(path === "" ? "/guides/" : `/guides/${path}/`, async (c) => {
      const addresses = { service: serviceUrl(c, basePath), sandbox: sandboxUrl };
      const guide = await renderGuide(path, `${basePath}/guides/`, addresses);
      if (!guide) throw new ServiceError("not_found");
      return page(c, guide.title, guide.html);
    });
  }

  function page(c: Context, title: string, html: string, headers = PAGE_HEADERS): Response {
    return c.body(renderPage({ title, basePath, html }), 200, headers);
  }

  return router;
}

const TITLE = "Payment Gateway Integration Service";

/** The welcome page of the embedded default has a form. */
const WITH_FORM = {
  ...PAGE_HEADERS,
  "Content-Security-Policy": PAGE_HEADERS["Content-Security-Policy"]
    .replace("form-action 'none'", "form-action 'self'"),
  // With `no-referrer`, browsers send the form with `Origin: null`.
  "Referrer-Policy": "same-origin",
};

/** True if the client accepts `text/html`, and does not list `application/json` before it. */
function prefersHtml(accept: string | undefined): boolean {
  const types = (accept ?? "").toLowerCase().split(",").map((type) => type.split(";")[0]!.trim());
  const html = types.indexOf("text/html");
  const json = types.indexOf("application/json");
  return html !== -1 && (json === -1 || html < json);
}

/** The address under which this client reached the service. */
function serviceUrl(c: Context, basePath: string): string {
  return new URL(c.req.url).origin + basePath;
}

function indexOf(basePath: string, sandboxUrl: string | null) {
  return {
    name: "Payment Gateway Integration Service",
    version: VERSION,
    reference: `${basePath}/reference/`,
    openapi: `${basePath}/openapi.json`,
    guides: `${basePath}/guides/`,
    console: `${basePath}/console/`,
    health: `${basePath}/health/ready/`,
    sandbox: sandboxUrl,
  };
}

function welcome(basePath: string, url: string, sandboxUrl: string | null): string {
  const link = (href: string, title: string, text: string) =>
    `<li><a href="${escapeHtml(href)}"><strong>${title}</strong><span>${text}</span></a></li>`;
  const command = `curl ${url}/charge/ -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{ "payment_type": "bank_transfer", "bank": "bca", "gross_amount": 44000 }'`;
  return `<h1>Payment Gateway Integration Service</h1>
<p>This service charges customers through the Midtrans payment gateway: cards, virtual accounts, bills,
e-wallets, QRIS, convenience stores and pay-later. It stores every payment and makes retries safe.</p>
<ul class="links">
${link(`${basePath}/guides/`, "Guides", "Step by step, with commands for this address")}
${
    link(
      `${basePath}/reference/`,
      "Reference",
      "Every field of every call; send requests from the page",
    )
  }
${
    link(
      `${basePath}/console/`,
      "Console",
      "For staff: find payments, refund them, see what happened",
    )
  }
${
    sandboxUrl
      ? link(
        `${sandboxUrl}/`,
        "Sandbox",
        "The emulated gateway: pay, decline and refund without money",
      )
      : ""
  }
</ul>
<h2>Create a first payment</h2>
<p>Set <code>KEY</code> to an API key. In development, <code>deno task start</code> prints one.</p>
<figure class="code"><figcaption>sh</figcaption><pre tabindex="0"><code>${
    escapeHtml(command)
  }</code></pre></figure>
<p>The response contains the virtual account that the customer pays to.</p>`;
}
