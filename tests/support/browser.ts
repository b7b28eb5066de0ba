/** Starts Chromium, if the machine has it. */

import { printMissing } from "./programs.ts";
import { PLAYWRIGHT } from "./tools.ts";

/** The paths on Debian and most other systems. */
const PATHS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/**
 * Chromium without its windows. Most tests use it where it is installed, because it needs less
 * processor time to load a page. It cannot keep a page that was left.
 */
const HEADLESS = "/usr/bin/chromium-headless-shell";

/** The path of the browser; if there is none, prints that tests are skipped and returns null. */
export function findBrowser(): string | null {
  const found = PATHS.find(isFile);
  if (found !== undefined) return found;
  printMissing("chromium", `the tests in a browser (searched for ${PATHS}) are`);
  return null;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** On a busy machine a page can need longer than the 30 s that Playwright waits by default. */
const TIMEOUT_MS = 120_000;

/** Starts the browser without its background requests to the internet. */
export async function launchBrowser(
  executablePath: string,
  { keepsPages = false } = {},
  // deno-lint-ignore no-explicit-any -- a package that is imported by name has no types
): Promise<any> {
  const { chromium } = await import(PLAYWRIGHT);
  const browser = await chromium.launch({
    executablePath: !keepsPages && isFile(HEADLESS) ? HEADLESS : executablePath,
    ignoreDefaultArgs: keepsPages ? ["--disable-back-forward-cache"] : [],
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  // `browser.newPage` calls this, too.
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options?: object) => {
    const context = await newContext(options);
    context.setDefaultTimeout(TIMEOUT_MS);
    return context;
  };
  return browser;
}

/**
 * Starts one browser for all tests of the process, because a start takes longer than most tests.
 * Call it when the module is loaded, not in a test. Each test calls `closePages` at its end.
 */
export async function launchSharedBrowser(executablePath: string): ReturnType<
  typeof launchBrowser
> {
  const browser = await launchBrowser(executablePath);
  Deno.test.afterAll(() => browser.close());
  return browser;
}

/** Closes all pages, with their cookies and stored data. */
// deno-lint-ignore no-explicit-any -- a package that is imported by name has no types
export async function closePages(browser: any): Promise<void> {
  for (const context of browser.contexts()) await context.close();
}
