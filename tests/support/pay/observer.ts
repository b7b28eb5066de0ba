/** Watches what a payment page does: its requests, responses, storage and windows. */

import assert from "node:assert/strict";
import type { Page } from "./browser.ts";

/** The headers of every response with a secret path or content. */
const PRIVATE_HEADERS = {
  "cache-control": /^no-store$/,
  "referrer-policy": /^no-referrer$/,
  "x-robots-tag": /noindex/,
};

const PAGE_HEADERS = {
  ...PRIVATE_HEADERS,
  "content-security-policy": /default-src 'none'.*frame-ancestors 'none'/,
  "x-frame-options": /^DENY$/,
  "x-content-type-options": /^nosniff$/,
};

/** Call it before the first page is loaded; `assertClean` says what was wrong, if anything. */
export function observe(page: Page, serviceUrl: string) {
  const findings: string[] = [];
  const context = page.context();
  const isOwn = (url: string) => url.startsWith(`${serviceUrl}/pay/`);

  context.on("page", (other: Page) => findings.push(`opened a window: ${other.url()}`));
  page.on("request", (request: Page) => {
    // A link of the shop or of a wallet replaces the page; nothing else may leave the host.
    if (isOwn(request.url()) || request.isNavigationRequest()) return;
    findings.push(`loaded ${request.url()}`);
  });
  page.on("console", (message: Page) => {
    // Failed responses are checked below.
    const isFailedLoad = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isFailedLoad) findings.push(message.text());
  });
  page.on("pageerror", (error: Error) => findings.push(error.message));
  page.on("response", (response: Page) => checkHeaders(response));

  function checkHeaders(response: Page): void {
    const { pathname } = new URL(response.url());
    const headers: Record<string, string> = response.headers();
    if (!isOwn(response.url())) return;
    if (response.status() >= 400 && !response.request().isNavigationRequest()) {
      findings.push(`${response.status()} at ${pathname}`);
    }
    if (headers["set-cookie"]) findings.push(`cookie at ${pathname}`);
    const type = headers["content-type"] ?? "";
    const isAsset = /^\/pay\/[\w.]+\.\w+$/.test(pathname);
    // A stream of events is not shown and leads nowhere.
    if (isAsset || type.startsWith("text/event-stream") || response.status() === 303) return;
    const expected = type.startsWith("text/html") ? PAGE_HEADERS : PRIVATE_HEADERS;
    for (const [name, pattern] of Object.entries(expected)) {
      if (!pattern.test(headers[name] ?? "")) findings.push(`${name} of ${response.url()}`);
    }
  }

  return {
    /** While the page is open. */
    async assertClean(message: string): Promise<void> {
      const stored = await page.evaluate("localStorage.length + sessionStorage.length");
      assert.equal(stored, 0, message);
      assert.deepEqual(await context.cookies(), [], message);
      assert.deepEqual(findings, [], message);
    },
  };
}
