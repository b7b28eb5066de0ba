/** The console in a real browser, in front of a service with a sandbox. */

import { closePages, findBrowser, launchBrowser, launchSharedBrowser } from "../browser.ts";
import { openPayments } from "../payments/payments.ts";
import { signInTo } from "./browsing.ts";

/** Null: no browser is installed. */
export const BROWSER = findBrowser();

const sharedBrowser = BROWSER === null ? null : await launchSharedBrowser(BROWSER);

// deno-lint-ignore no-explicit-any -- a package that is imported by name has no types
export type Page = any;

/** A test that is skipped if no browser is installed. */
export function browserTest(name: string, fn: () => Promise<void>): void {
  // The browser outlives the test.
  const options = { ignore: BROWSER === null, sanitizeResources: false };
  Deno.test({ name: `console in a browser: ${name}`, ...options, fn });
}

interface BrowserOptions {
  /** Changes what the browser gets, such as a proxy does. */
  change?: (response: Response, request: Request) => Response;
  /** Whether the browser may keep a page that was left, and show it after "back". */
  keepsPages?: boolean;
}

export async function openConsole(
  options?: Parameters<typeof openPayments>[0],
  { change = (response) => response, keepsPages = false }: BrowserOptions = {},
) {
  const payments = await openPayments(options);
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request, { remoteAddr }) =>
      change(await payments.app.fetchUnchecked(request, { remoteAddr }), request),
  );
  const browser = keepsPages ? await launchBrowser(BROWSER!, { keepsPages }) : sharedBrowser;
  const url = `http://127.0.0.1:${server.addr.port}/console`;
  return {
    payments,
    browser,
    /** Without a slash at the end. */
    url,
    /** Gives the page's context a session, without the pages of the sign-in. Opens no page. */
    async signIn(page: Page, key: string) {
      const { cookies } = await signInTo(payments.app, key);
      const place = { domain: "127.0.0.1", path: "/console/" };
      await page.context().addCookies(
        Array.from(cookies, ([name, value]) => ({ name, value, ...place })),
      );
    },
    async [Symbol.asyncDispose]() {
      await closePages(browser);
      if (keepsPages) await browser.close();
      await payments.app.streams[Symbol.asyncDispose]();
      await server.shutdown();
      await payments[Symbol.asyncDispose]();
    },
  };
}

/** Opens a page, and waits until it follows the events and has loaded itself for the first time. */
export async function openLive(page: Page, url: string): Promise<void> {
  const isRefresh = (response: Page) => response.request().headers()["console-refresh"];
  await Promise.all([page.waitForResponse(isRefresh), page.goto(url)]);
}

export async function signInByPage(page: Page, url: string, key: string): Promise<void> {
  await page.goto(`${url}/`);
  await page.getByLabel("API key or JWT").fill(key);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
}
