/** Payment pages of fixtures in a real browser, served by a small server in the test. */

import { drawIcon, readScript, readStylesheet } from "../../../pay/assets.tsx";
import type { PageModel } from "../../../pay/model.ts";
import { PAGE_HEADERS, renderPage } from "../../../pay/page.tsx";
import { drawQrImage } from "../../../pay/qr.tsx";
import { closePages, findBrowser, launchSharedBrowser } from "../browser.ts";
import { pageModel, QR_STRING, SCREENS } from "./pages.ts";

const BROWSER = findBrowser();

/** One for all tests of a file; null: no browser is installed. */
export const sharedBrowser = BROWSER === null ? null : await launchSharedBrowser(BROWSER);

// deno-lint-ignore no-explicit-any -- a package that is imported by name has no types
export type Page = any;

/** A test that is skipped if no browser is installed. */
export function payBrowserTest(name: string, fn: () => Promise<void>): void {
  // The browser outlives the test.
  const options = { ignore: BROWSER === null, sanitizeResources: false };
  Deno.test({ name: `pay page in a browser: ${name}`, ...options, fn });
}

interface PayServerOptions {
  /** The colour of the stylesheet. */
  color?: string | null;
  /** Whether `/live` answers, or fails as behind a proxy that does not pass events. */
  hasEvents?: boolean;
}

/** Serves each fixture at `/pay/<name>`, and what `show` replaced it with. */
export async function openPayPages(
  { color = "#0f766e", hasEvents = true }: PayServerOptions = {},
) {
  const shown = new Map<string, PageModel>();
  const streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
  /** Method and path of each request, and the body of those that have one. */
  const requests: string[] = [];
  const stylesheet = await readStylesheet(color);
  const script = await readScript();
  const icon = drawIcon({ name: "Kopi Nusantara", color, logoPath: null });

  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    const body = await request.text();
    requests.push(`${request.method} ${pathname}${body && ` ${body}`}`);
    const [, , name = "", below] = pathname.split("/");
    if (name === "pay.css") return respond(stylesheet, "text/css");
    if (name === "pay.js") return respond(script, "text/javascript");
    if (name === "icon.svg") return respond(icon, "image/svg+xml");
    if (below === "qr.png" || below === "qr") return respond(drawQrImage(QR_STRING)!, "image/png");
    const model = modelOf(name, searchParams.get("lang"));
    if (model === null) return new Response("Not found", { status: 404 });
    if (request.method === "POST") return redirectTo(`${model.path}?lang=${model.language}`);
    if (below === "state") return respond(model.stateKey, "text/plain");
    if (below === "live") return hasEvents ? follow(model) : new Response("", { status: 502 });
    return new Response(renderPage(model), { headers: PAGE_HEADERS });
  });

  function modelOf(name: string, language: string | null): PageModel | null {
    const model = shown.get(name) ??
      (SCREENS[name] ? pageModel(SCREENS[name], { path: `/pay/${name}` }) : null);
    return model && { ...model, language: language === "en" ? "en" : "id" };
  }

  function follow({ stateKey }: PageModel): Response {
    let own: ReadableStreamDefaultController<Uint8Array>;
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        own = controller;
        streams.add(own);
        send(own, stateKey);
      },
      cancel() {
        streams.delete(own);
      },
    });
    return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
  }

  return {
    browser: sharedBrowser,
    requests,
    /** Without a slash at the end. */
    url: `http://127.0.0.1:${server.addr.port}/pay`,
    /** Shows another page at the path of a fixture, and tells open pages. */
    show(name: string, overrides: Partial<PageModel>) {
      shown.set(name, pageModel(SCREENS[name]!, { path: `/pay/${name}`, ...overrides }));
      for (const stream of streams) send(stream, shown.get(name)!.stateKey);
    },
    async [Symbol.asyncDispose]() {
      await closePages(sharedBrowser);
      for (const stream of streams) stream.close();
      await server.shutdown();
    },
  };
}

function send(stream: ReadableStreamDefaultController<Uint8Array>, stateKey: string): void {
  stream.enqueue(new TextEncoder().encode(`data: ${stateKey}\n\n`));
}

function respond(body: BodyInit, type: string): Response {
  return new Response(body, { headers: { "Content-Type": type } });
}

function redirectTo(path: string): Response {
  return new Response(null, { status: 303, headers: { Location: path } });
}
