/** Payment pages of a running service with a sandbox, and a customer with a real browser. */

import { type MethodId, METHODS } from "../../../core/checkouts/methods.ts";
import type { TestAppOptions } from "../app.ts";
import { callService } from "../client.ts";
import { closePages } from "../browser.ts";
import { type Checkout, type TestCheckouts, withCheckouts } from "../checkouts/checkouts.ts";
import { openRelayed, type Relay } from "../gateway/relay.ts";
import {
  AMOUNT,
  CUSTOMER,
  ITEMS,
  type Json,
  readHook,
  type TestSandbox,
} from "../gateway/sandbox.ts";
import { openPayments, type TestPayments } from "../payments/payments.ts";
import { until } from "../until.ts";
import { type Page, sharedBrowser } from "./browser.ts";

export const FINISH_URL = "https://shop.example/thanks?from=pay";

/** All methods can be chosen. */
export const ORDER = {
  gross_amount: AMOUNT,
  item_details: ITEMS,
  customer_details: CUSTOMER,
  finish_url: FINISH_URL,
  cancel_url: "https://shop.example/cart",
};

const MERCHANT = { MERCHANT_NAME: "Kopi Nusantara", MERCHANT_COLOR: "#0f766e" };

export interface PayService extends TestCheckouts {
  /** Without a slash at the end. */
  url: string;
  browser: Page;
  /** Opens the page of a checkout in a context of its own. */
  visit(checkout: Checkout, options?: VisitOptions): Promise<Page>;
  /** The transaction that the customer can pay; fails the test unless there is exactly one. */
  payable(checkout: Checkout): Promise<Json>;
  /** Pays at the sandbox, which notifies the service. */
  pay(checkout: Checkout): Promise<void>;
  /** While it is true, the gateway's notifications do not reach the service. */
  losesNotifications: boolean;
  /** What the service has been sent: addresses, headers and bodies. */
  received: string[];
}

export interface VisitOptions {
  language?: "id" | "en";
  width?: number;
  colorScheme?: "light" | "dark";
  javaScriptEnabled?: boolean;
}

/** A service at an address of its own, to which the sandbox sends its notifications. */
export async function openPayService(options: Partial<TestAppOptions> = {}): Promise<PayService> {
  return await servePages((more) => openPayments({ ...options, ...more }), options);
}

/** With a relay that can hold calls to the gateway. It does not pass images of QR codes. */
export async function openRelayedPayService(
  options: Partial<TestAppOptions> = {},
): Promise<PayService & { relay: Relay }> {
  return await servePages((more) => openRelayed({ ...options, ...more }), options);
}

async function servePages<T extends TestPayments>(
  open: (options: Partial<TestAppOptions>) => Promise<T>,
  { env }: Partial<TestAppOptions>,
): Promise<T & PayService> {
  let handle: Deno.ServeHandler = () => new Response(null, { status: 503 });
  const options = { port: 0, hostname: "127.0.0.1", onListen() {} };
  const server = Deno.serve(options, (request, info) => handle(request, info));
  const url = `http://127.0.0.1:${server.addr.port}`;
  const settings = { PUBLIC_URL: url, ...MERCHANT, ...env };
  // Events wake open pages, so they must be published.
  const checkouts = withCheckouts(await open({ env: settings, hasPositionPublisher: true }));
  const { app, sandbox } = checkouts;
  const received: string[] = [];
  handle = async (request, { remoteAddr }) => {
    const headers = [...request.headers].join("\n");
    received.push(request.url, headers, await request.clone().text());
    // Charges name this address, so the sandbox's own receiver does not see their notifications.
    if (new URL(request.url).pathname === "/notification/") {
      const hook = await readHook(request.clone());
      if (hook) sandbox.hooks.push(hook);
      if (service.losesNotifications) return new Response(null, { status: 503 });
    }
    return await app.fetchUnchecked(request, { remoteAddr });
  };
  notify(sandbox, url);
  const service: T & PayService = {
    ...checkouts,
    losesNotifications: false,
    received,
    url,
    browser: sharedBrowser,
    visit: ({ checkout_url }, options) => visit(checkout_url!, options),
    payable: (checkout) => findPayable(checkouts, checkout),
    async pay(checkout) {
      const { transaction_id } = await findPayable(checkouts, checkout);
      await sandbox.control(`transactions/${transaction_id}/pay`);
    },
    async [Symbol.asyncDispose]() {
      await closePages(sharedBrowser);
      await app.streams[Symbol.asyncDispose]();
      await server.shutdown();
      await checkouts[Symbol.asyncDispose]();
    },
  };
  return service;
}

/** Sends the gateway's notifications of payments on to the service. */
export function notify({ receiver }: TestSandbox, serviceUrl: string): void {
  receiver.answer = async ({ text }) => {
    const headers = { "Content-Type": "application/json" };
    const init = { method: "POST", headers, body: text };
    // Null: the service is down, so the gateway tries again later.
    const response = await callService(`${serviceUrl}/notification/`, init).catch((error) => {
      if (error instanceof TypeError) return null;
      throw error;
    });
    await response?.body?.cancel();
    return new Response(null, { status: response?.status ?? 503 });
  };
}

/** A page of the size and the language, in a context of its own, like a device. */
export async function openDevice(options: VisitOptions = {}): Promise<Page> {
  const { width = 390, language = "en", colorScheme = "light", javaScriptEnabled = true } = options;
  const isPhone = width < 600;
  const context = await sharedBrowser.newContext({
    viewport: { width, height: isPhone ? 844 : 900 },
    locale: language === "id" ? "id-ID" : "en-GB",
    colorScheme,
    javaScriptEnabled,
    hasTouch: isPhone,
    isMobile: isPhone,
    reducedMotion: "reduce",
  });
  return await context.newPage();
}

async function visit(url: string, options?: VisitOptions): Promise<Page> {
  const page = await openDevice(options);
  await page.goto(url);
  return page;
}

async function findPayable(checkouts: TestCheckouts, checkout: Checkout): Promise<Json> {
  const all = await checkouts.transactionsOf(checkout);
  const pending = all.filter(({ transaction_status }) => transaction_status === "pending");
  if (pending.length === 1) return pending[0];
  const found = all.map(({ order_id, transaction_status }) => `${order_id} ${transaction_status}`);
  throw new Error(`${pending.length} transactions are payable: ${found.join(", ")}`);
}

/** The customer taps the method; the page that follows is loaded. */
export async function chooseOnPage(page: Page, method: MethodId): Promise<void> {
  if (METHODS[method].needsPhone) {
    await page.locator(`#${method} summary`).click();
    await page.locator("#phone").fill("081234567890");
    await page.locator(`#${method} button[type=submit]`).click();
  } else {
    await page.locator(`button[value="${method}"]`).click();
  }
  await waitForScreen(page, method === "credit_card" ? "card" : "instructions");
}

/** The customer asks for the list of methods again. */
export async function changeOnPage(page: Page): Promise<void> {
  await page.locator("form.change button").click();
  await waitForScreen(page, "choose");
}

export function waitForScreen(page: Page, screen: string): Promise<void> {
  return page.locator(`#page.screen-${screen}`).waitFor();
}

/** Waits until the page follows the changes of its checkout. */
export async function visitLive(checkout: Checkout, options?: VisitOptions): Promise<Page> {
  const page = await openDevice(options);
  await Promise.all([page.waitForResponse(/\/live$/), page.goto(checkout.checkout_url)]);
  return page;
}

/** Waits until the stored checkout has this status. */
export async function untilStatus(service: TestCheckouts, { id }: Checkout, status: string) {
  await until(
    `the checkout is ${status}`,
    async () => (await service.readCheckout(id)).status === status,
  );
}
