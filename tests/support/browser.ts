/** A real browser, where the machine has one. */

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

/** The specifier is computed so that nobody who only starts the service downloads it. */
const PLAYWRIGHT = ["npm:playwright-core", "1.65.0"].join("@");

/** Starts it without a network of its own: it may reach this machine and asks nobody else. */
// deno-lint-ignore no-explicit-any -- the price of the computed specifier
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
