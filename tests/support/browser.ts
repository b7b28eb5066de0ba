/** A real browser, where the machine has one. */

import { PLAYWRIGHT } from "./tools.ts";

/** Where Debian, and most others, put it. */
const PATHS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The path of the browser, or null; then the tests that need one are skipped, and say so loudly. */
export function findBrowser(): string | null {
  for (const path of PATHS) {
    try {
      if (Deno.statSync(path).isFile) return path;
    } catch {
      // Not there.
    }
  }
  console.error(
    `\n*** NO BROWSER: the tests that need Chromium are SKIPPED (looked for ${PATHS}) ***\n`,
  );
  return null;
}

/** Starts it without a network of its own: it may reach this machine and asks nobody else. */
// deno-lint-ignore no-explicit-any -- what is imported by name has no types
export async function launchBrowser(executablePath: string): Promise<any> {
  const { chromium } = await import(PLAYWRIGHT);
  return await chromium.launch({
    executablePath,
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
