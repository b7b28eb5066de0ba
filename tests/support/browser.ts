/** Starts Chromium, if the machine has it. */

import { PLAYWRIGHT } from "./tools.ts";

/** The paths on Debian and most other systems. */
const PATHS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The path of the browser; if there is none, prints that tests are skipped and returns null. */
export function findBrowser(): string | null {
  for (const path of PATHS) {
    try {
      if (Deno.statSync(path).isFile) return path;
    } catch {
      // Not installed at this path.
    }
  }
  console.error(
    `\n*** NO BROWSER: the tests that need Chromium are SKIPPED (searched for ${PATHS}) ***\n`,
  );
  return null;
}

/** Starts the browser without its background requests to the internet. */
export async function launchBrowser(
  executablePath: string,
  { keepsPages = false } = {},
  // deno-lint-ignore no-explicit-any -- a package that is imported by name has no types
): Promise<any> {
  const { chromium } = await import(PLAYWRIGHT);
  return await chromium.launch({
    executablePath,
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
}
