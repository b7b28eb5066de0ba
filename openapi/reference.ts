/** Serves the OpenAPI document and the interactive reference page, both public. */

import { Hono } from "hono";
import type { Document } from "./document.ts";
import { createFixedResponse } from "./fixed_response.ts";
import { renderSummary } from "./summary.ts";

export interface ReferenceOptions {
  document: () => Document;
  basePath: string;
  developmentKey: string | null;
}

export function createReference({ document, basePath, developmentKey }: ReferenceOptions): Hono {
  const reference = new Hono();

  reference.get(
    "/openapi.json/",
    createFixedResponse({
      contentType: "application/json",
      // Clients revalidate each time, because another version may be deployed.
      cacheControl: "no-cache",
      text: () => JSON.stringify(document()),
    }),
  );

  // Created on demand, like the document.
  let summary: string | undefined;

  reference.get("/reference/", async (c, next) => {
    const nonce = crypto.randomUUID();
    c.header("Content-Security-Policy", contentSecurityPolicy(nonce));
    // Protects the key from DNS rebinding: another site's name may resolve to this machine.
    const key = isLoopback(c.req.header("host")) ? developmentKey : null;
    // Imported on demand, for a quicker start.
    const { Scalar } = await import("@scalar/hono-api-reference");
    const page = await Scalar({
      pageTitle: "Payment Gateway API",
      url: `${basePath}/openapi.json`,
      cdn: `${basePath}/reference/scalar.js`,
      favicon: `${basePath}/reference/favicon.svg`,
      nonce,
      withDefaultFonts: false,
      telemetry: false,
      // Features that would contact external services.
      agent: { disabled: true },
      mcp: { disabled: true },
      showDeveloperTools: "never",
      hideClientButton: true,
      // Keep the order of the document, which groups related properties.
      orderSchemaPropertiesBy: "preserve",
      customCss: STYLE,
      onLoaded: REMOVE_SUMMARY,
      ...key && {
        authentication: {
          preferredSecurityScheme: "bearer",
          securitySchemes: { bearer: { token: key } },
        },
      },
    })(c, next) as Response;
    summary ??= await renderSummary(document(), basePath);
    const html = (await page.text())
      // Scalar's page does not name its language.
      .replace("<html>", '<html lang="en">')
      .replace(APP_ELEMENT, () => summary + APP_ELEMENT);
    return c.html(html);
  });

  reference.get(
    "/reference/scalar.js/",
    createFixedResponse({
      contentType: "text/javascript; charset=utf-8",
      cacheControl: "public, max-age=86400",
      text: async () => withModelsLast(await loadScalarScript()),
    }),
  );

  reference.get("/reference/favicon.svg/", (c) => {
    return c.body(FAVICON, 200, { "Content-Type": "image/svg+xml" });
  });

  return reference;
}

const FAVICON = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">' +
  '<rect width="32" height="32" rx="8" fill="#0f766e"/>' +
  '<path d="M7 12h18M7 17h18M7 22h8" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>';

/**
 * Other colours, because the contrast of Scalar's own is below 4.5 (WCAG AA); no outline around a
 * section that a link points to; no "test request" button on webhooks, which the service sends;
 * code that wraps, because the keyboard cannot scroll it; and the names of external links.
 */
const STYLE = `
:root { --scalar-custom-header-height: 44px; }
.service-links { position: sticky; top: 0; z-index: 10; }
.service-links nav {
  box-sizing: border-box; height: 44px; padding: 0 16px; overflow-x: auto; white-space: nowrap;
  display: flex; gap: 16px; align-items: center;
  background: var(--scalar-background-1, Canvas); color: var(--scalar-color-1, CanvasText);
  border-bottom: 1px solid var(--scalar-border-color, GrayText);
  font: 14px/1.4 system-ui, sans-serif;
}
.service-links a { color: inherit; }
body { margin: 0; }
#summary { max-width: 50rem; margin: 24px auto; padding: 0 24px; font: 16px/1.5 system-ui, sans-serif; }
#summary li { margin: 4px 0; overflow-wrap: anywhere; }
/* Hidden until the script has loaded the document and removed the summary. */
#summary ~ #app { display: none; }
.light-mode {
  --scalar-color-2: #5e5e5e;
  --scalar-color-3: #6b6b6b;
  --scalar-color-blue: #0056b3;
  --scalar-color-green: #00703f;
  --scalar-color-orange: #a84300;
  --scalar-color-red: #c0103a;
  --scalar-color-yellow: #7a5b00;
}
.dark-mode { --scalar-color-3: #a0a0a0; --scalar-color-blue: #9db0ff; }
.section[tabindex="-1"]:focus-visible { outline: none; }
[id*="/webhook/"] .show-api-client-button { display: none; }
.markdown pre code.hljs {
  overflow: visible !important; white-space: pre-wrap !important; overflow-wrap: anywhere;
}
.group > a[target="_blank"] > .ml-1 { display: inline !important; }
`;

/** Where the script renders the page. */
const APP_ELEMENT = '<div id="app"></div>';

/** Runs in the browser, when the script has loaded the document. */
// deno-lint-ignore no-explicit-any -- Deno has no `document`
const REMOVE_SUMMARY = () => (globalThis as any).document.getElementById("summary")?.remove();

/** Allows only scripts of this origin, and inline scripts with the nonce. */
function contentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function isLoopback(host: string | undefined): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(host ?? "");
}

/**
 * Changes the search of the script: it sorts by similarity alone, so that models, which have the
 * names of fields in their text, hide the operations. A test notices if the script changes.
 */
function withModelsLast(script: string): string {
  return script.replace(
    /([\w.]+\.search\(\w+\.value),\{limit:([\w$]+)\}\)/,
    (_, search, limit) =>
      `((all,isModel)=>[...all.filter(e=>!isModel(e)).slice(0,${limit}),` +
      `...all.filter(isModel).slice(0,${limit})])(${search}),e=>e.item.type==="model")`,
  );
}

type Handler = (request: unknown, reply: Reply) => unknown;
interface Reply {
  header(name: string, value: string): Reply;
  send(body: string): unknown;
}

/**
 * The reference page's script, from an npm package, so that the page loads nothing from a CDN. The
 * package is a Fastify plugin that does not export the script, so this registers it with a fake
 * Fastify and calls the route that sends the script. Imported on demand, because it is large.
 */
async function loadScalarScript(): Promise<string> {
  const { default: plugin } = await import("@scalar/fastify-api-reference");
  const routes = new Map<string, Handler>();
  const fastify = {
    route: ({ url, handler }: { url: string; handler: Handler }) => routes.set(url, handler),
  };
  // deno-lint-ignore no-explicit-any -- has only the members of Fastify that the plugin uses
  plugin(fastify as any, { configuration: { url: "/openapi.json" } }, () => {});
  return await new Promise((resolve, reject) => {
    const send = routes.get("/reference/js/scalar.js");
    if (!send) {
      return reject(new Error("@scalar/fastify-api-reference does not serve its script any more"));
    }
    const reply: Reply = { header: () => reply, send: resolve };
    send({}, reply);
  });
}
