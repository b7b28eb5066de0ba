/**
 * What the reference page shows before its large script has run: links to the other pages, and the
 * operations by topic.
 */

import { html } from "hono/html";
import type { Document } from "./document.ts";

/** The links stay above the page; the script removes the element `summary`. */
export async function renderSummary(document: Document, basePath: string): Promise<string> {
  const { info, tags = [], paths = {} } = document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    METHODS.map((method) => ({ path, method, operation: methods?.[method] }))
  );
  const topics = tags.map(({ name, description }) =>
    html`
      <h2>${name}</h2>
      <p>${description ?? ""}</p>
      <ul>${operations.filter(({ operation }) => operation?.tags?.includes(name)).map((
        { path, method, operation },
      ) =>
        html`
          <li><code>${method.toUpperCase()} ${basePath}${path}</code> ${operation!.summary ??
            ""}</li>
        `
      )}
      </ul>
    `
  );
  const page = html`
    <div class="service-links">
      <nav aria-label="Main">
        <a href="${basePath}/"><strong>Payment Gateway</strong></a>
        <a href="${basePath}/guides/">Guides</a>
        <a href="${basePath}/console/">Console</a>
        <a href="${basePath}/openapi.json">OpenAPI</a>
      </nav>
    </div>
    <main id="summary"><h1>${info.title}</h1>
    ${topics}</main>
  `;
  return String(await page);
}

const METHODS = ["get", "post", "patch", "delete"] as const;
