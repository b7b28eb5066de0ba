/** The document and the interactive reference page, both open to everybody. */

import { Scalar } from "@scalar/hono-api-reference";
import { Hono } from "hono";
import type { Document } from "./document.ts";
import { createFixedAnswer } from "./fixed_answer.ts";
import { loadScalarScript } from "./scalar_script.ts";

export interface ReferenceOptions {
  document: () => Document;
  basePath: string;
  developmentKey: string | null;
}

export function createReference({ document, basePath, developmentKey }: ReferenceOptions): Hono {
  const reference = new Hono();

  reference.get(
    "/openapi.json/",
    createFixedAnswer({
      contentType: "application/json",
      // Kept by whoever likes, and asked for again each time: another version may run by now.
      cacheControl: "no-cache",
      text: () => JSON.stringify(document()),
    }),
  );

  reference.get("/reference/", (c, next) => {
    const nonce = crypto.randomUUID();
    c.header("Content-Security-Policy", contentSecurityPolicy(nonce));
    // A stranger's page that got its own name to point at this machine must not read the key.
    const key = isThisMachine(c.req.header("host")) ? developmentKey : null;
    return Scalar({
      pageTitle: "Payment Gateway API",
      url: `${basePath}/openapi.json`,
      cdn: `${basePath}/reference/scalar.js`,
      favicon: `${basePath}/reference/favicon.svg`,
      nonce,
      withDefaultFonts: false,
      telemetry: false,
      // What would lead to services outside.
      agent: { disabled: true },
      mcp: { disabled: true },
      showDeveloperTools: "never",
      hideClientButton: true,
      // As the document has them: what belongs together stands together.
      orderSchemaPropertiesBy: "preserve",
      customCss: STYLE,
      ...key && {
        authentication: {
          preferredSecurityScheme: "bearer",
          securitySchemes: { bearer: { token: key } },
        },
      },
    })(c, next);
  });

  reference.get(
    "/reference/scalar.js/",
    createFixedAnswer({
      contentType: "text/javascript; charset=utf-8",
      cacheControl: "public, max-age=86400",
      text: loadScalarScript,
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
 * Colours where Scalar's own are too faint to read (WCAG asks for a contrast of 4.5); no frame around
 * a whole section, which a link into the page gives it; and nothing to send a webhook with, for
 * those are the service's to send, and the page may reach nobody else.
 */
const STYLE = `
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
`;

/** Scripts are ours alone; the page's inline ones carry the nonce. */
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

function isThisMachine(host: string | undefined): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(host ?? "");
}
