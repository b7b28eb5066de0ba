/** Uses the console like a browser without scripts: keeps cookies, and sends the forms of pages. */

import assert from "node:assert/strict";
import type { TestApp } from "../app.ts";

/** The address in the browser; the service itself is called directly. */
const ORIGIN = "http://console.example";

export interface ConsolePage {
  status: number;
  path: string;
  html: string;
  headers: Headers;
}

export interface Browsing {
  readonly page: ConsolePage;
  /** Cookies by name. */
  readonly cookies: Map<string, string>;
  /** Opens a page and follows redirects. */
  open(path: string, headers?: HeadersInit): Promise<ConsolePage>;
  /** Sends the form with this action on the current page, with changed fields. */
  submit(action: RegExp, fields?: Record<string, string>): Promise<ConsolePage>;
  /** Sends any form, without a page. */
  post(path: string, fields: FormFields, headers?: HeadersInit): Promise<ConsolePage>;
}

/** A form with a file is `FormData`, or the bytes of one. */
export type FormFields = Record<string, string> | FormData | ReadableStream<Uint8Array>;

export function browse(app: TestApp, { origin = ORIGIN } = {}): Browsing {
  const cookies = new Map<string, string>();
  let page: ConsolePage = { status: 0, path: "", html: "", headers: new Headers() };

  async function send(path: string, init: RequestInit): Promise<ConsolePage> {
    const headers = new Headers(init.headers);
    const host = new URL(origin).host;
    headers.set("host", host);
    headers.set("cookie", [...cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    const request = new Request(new URL(path, origin), { ...init, headers });
    const response = await app.fetchUnchecked(request);
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = cookie.match(/^([^=]+)=([^;]*)/)!;
      if (value === "") cookies.delete(name!);
      else cookies.set(name!, value!);
    }
    const { status } = response;
    const html = await response.text();
    const location = response.headers.get("location");
    if (location && status >= 300 && status < 400) return await send(location, { method: "GET" });
    return page = { status, path, html, headers: response.headers };
  }

  const post: Browsing["post"] = (path, fields, headers = {}) =>
    send(path, {
      method: "POST",
      body: fields instanceof FormData || fields instanceof ReadableStream
        ? fields
        : new URLSearchParams(fields),
      // Names in lower case, so that another origin replaces the own one and is not added to it.
      headers: { origin, ...Object.fromEntries(new Headers(headers)) },
    });

  return {
    get page() {
      return page;
    },
    cookies,
    open: (path, headers) => send(path, { method: "GET", headers }),
    post,
    async submit(action, fields = {}) {
      const form = formsOf(page.html).find((each) => action.test(each.action));
      assert.ok(form, `no form ${action} on ${page.path}: ${page.html}`);
      return await post(form.action, { ...form.fields, ...fields });
    },
  };
}

export async function signInTo(
  app: TestApp,
  key: string,
  options?: { origin?: string },
): Promise<Browsing> {
  const browsing = browse(app, options);
  await browsing.open("/console/sign-in/");
  await browsing.submit(/sign-in/, { credential: key });
  return browsing;
}

/** Signs in with the staff key of the fixture, or with a new one. */
export async function openStaff(
  { app, staff }: { app: TestApp; staff?: string },
  userId = "ops",
): Promise<Browsing> {
  return await signInTo(app, staff ?? await app.createKey({ userId, isStaff: true }));
}

interface Form {
  action: string;
  fields: Record<string, string>;
}

/** The forms of a page with the values of their fields, without boxes that are not checked. */
export function formsOf(html: string): Form[] {
  return [...html.matchAll(/<form[^>]*action="([^"]+)"[^>]*>(.*?)<\/form>/gs)].map((
    [, action, inner],
  ) => ({
    action: action!,
    fields: Object.fromEntries([
      ...[...inner!.matchAll(/<input[^>]*\bname="([^"]+)"[^>]*>/g)]
        .filter(([input]) => !input.includes('type="checkbox"') || input.includes("checked"))
        .map(([input, name]) => [name!, unescape(input.match(/\bvalue="([^"]*)"/)?.[1] ?? "")]),
      ...[...inner!.matchAll(/<textarea[^>]*\bname="([^"]+)"[^>]*>([^<]*)</g)]
        .map(([, name, text]) => [name!, unescape(text!)]),
    ]),
  }));
}

/** The text of escaped HTML. */
export function unescape(html: string): string {
  return html.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}

/** The same session in another tab. */
export function openTab(app: TestApp, { cookies }: Browsing): Browsing {
  const tab = browse(app);
  for (const [name, value] of cookies) tab.cookies.set(name, value);
  return tab;
}

/** The order ids in the table of payments. */
export function orderIdsIn(html: string): string[] {
  return [...html.matchAll(/<td><a href="[^"]+">([^<]+)<\/a><\/td>/g)].map(([, id]) => id!);
}

/** Text that would run as a script if a page did not escape it. */
export const XSS_PROBE = `"'><script>alert(1)</script><img src=x onerror=alert(2)>`;
