/** Runs a program that uses the SDK in Chromium. */

import { join } from "node:path";
import { launchBrowser } from "./browser.ts";
import type { ServiceProcess } from "./service.ts";

/** `process.env` is the only part of Node that the programs use. */
const page = (name: string, settings: Record<string, string>) =>
  `<!doctype html>
<script type="importmap">
{ "imports": { "payment-gateway-client": "/_files/node_modules/payment-gateway-client/lib/mod.js" } }
</script>
<script>globalThis.process = { env: ${JSON.stringify(settings)} };</script>
<script type="module" src="/_files/${name}.js"></script>`;

/**
 * Runs `name.js` of a folder, and returns the first text that it prints. The service and the
 * sandbox allow no other origins, so the server of the page also forwards requests to them.
 * `settings` is called with the origin of the page.
 */
export async function runInBrowser(
  executablePath: string,
  folder: string,
  name: string,
  service: ServiceProcess,
  settings: (origin: string) => Record<string, string>,
): Promise<string> {
  const stop = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, signal: stop.signal, onListen: () => {} },
    async (request) => {
      const { pathname, search, origin } = new URL(request.url);
      if (pathname === "/_page") {
        const headers = { "Content-Type": "text/html" };
        return new Response(page(name, settings(origin)), { headers });
      }
      if (pathname.startsWith("/_files/")) {
        const text = await Deno.readTextFile(join(folder, pathname.slice("/_files/".length)));
        return new Response(text, { headers: { "Content-Type": "text/javascript" } });
      }
      const target = pathname.startsWith("/_sandbox/") ? service.sandbox : service.url;
      return await forward(request, `${target}${pathname}${search}`);
    },
  );
  const browser = await launchBrowser(executablePath);
  try {
    const tab = await browser.newPage();
    const printed = new Promise<string>((resolve, reject) => {
      tab.on("pageerror", reject);
      tab.on("console", (message: { type(): string; text(): string }) => {
        if (message.type() === "log") resolve(message.text());
      });
    });
    const [text] = await Promise.all([
      printed,
      tab.goto(`http://127.0.0.1:${server.addr.port}/_page`),
    ]);
    return text;
  } finally {
    await browser.close();
    stop.abort();
    await server.finished;
  }
}

/** Removes `Origin`, because the sandbox rejects changes by pages of other origins. */
async function forward(request: Request, url: string): Promise<Response> {
  const headers = new Headers(request.headers);
  for (const name of ["host", "origin", "referer"]) headers.delete(name);
  for (const name of [...headers.keys()]) if (name.startsWith("sec-")) headers.delete(name);
  const body = request.body && await request.arrayBuffer();
  return await fetch(url, { method: request.method, headers, body });
}
