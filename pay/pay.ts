/** `/pay/…`: the pages where customers pay. The link is all that a customer needs. */

import { type Context, Hono, type Next } from "hono";
import { bodyLimit } from "hono/body-limit";
import { compress } from "hono/compress";
import { streamSSE } from "hono/streaming";
import { readPaymentOfLink } from "../core/payments/read.ts";
import { chooseMethod, closeOpenAttempt, leaveFailedPage } from "../core/checkouts/attempts.ts";
import { checkCardPage } from "../core/checkouts/card_page.ts";
import { readCheckoutPayments } from "../core/checkouts/checkout_record.ts";
import { isMethod } from "../core/checkouts/methods.ts";
import { fetchQrImage } from "../core/checkouts/qr_image.ts";
import { findCheckoutOfLink } from "../core/checkouts/read.ts";
import { settle } from "../core/checkouts/settle.ts";
import { isPayable, openAttempt, paymentsOf } from "../core/checkouts/states.ts";
import type { AddressList } from "../core/config/address_list.ts";
import { ServiceError } from "../core/errors.ts";
import type { EventStreams } from "../core/events/streams.ts";
import type { EventWatch } from "../core/events/watches.ts";
import type { Service } from "../core/service.ts";
import { inSpanWithoutAddress } from "../core/telemetry/telemetry.ts";
import type { GatewayCheckout } from "../db/billing/checkouts.ts";
import type { GatewayPayment } from "../db/payments/payments.ts";
import { STREAM_HEADERS } from "../http/event_stream.ts";
import { clientAddress, type RateLimit } from "../http/middleware/rate_limit.ts";
import { recordError } from "../http/problems/render.ts";
import type { AppEnv } from "../http/router.ts";
import { drawIcon, readScript, readStylesheet } from "./assets.tsx";
import type { PageModel } from "./model.ts";
import { drawQrImage } from "./qr.tsx";
import { PAGE_HEADERS, renderPage } from "./page.tsx";
import { renderProblem } from "./problem.tsx";
import { type PageContext, presentCheckoutPage, presentPaymentPage } from "./present.ts";

export interface PayOptions {
  /** Limits requests with wrong tokens by their address; customers with a link are not limited. */
  limit: RateLimit;
  trustedProxies: AddressList | null;
  /** Wakes open pages. */
  streams: EventStreams;
}

/** The record behind a link. */
type Target =
  | { kind: "checkout"; checkout: GatewayCheckout }
  | { kind: "payment"; payment: GatewayPayment };

/** The records that a page shows. */
type ShownRecords = Target & { payments: GatewayPayment[] };

const MAX_FORM_BYTES = 4_096;

/** Pages and their files become a third as long; images are compressed already. */
const COMPRESSED = /^(text\/(html|css|javascript)|image\/svg)/;

export function createPayPages(service: Service, options: PayOptions): Hono<AppEnv> {
  const router = new Hono<AppEnv>();
  router.use("*", hideAddress);
  router.use("*", compress({ encoding: "gzip", contentTypeFilter: COMPRESSED }));
  router.use("*", bodyLimit({ maxSize: MAX_FORM_BYTES, onError: tooLarge }));
  router.onError((thrown, c) => showProblem(service, c, thrown));
  addAssets(router, service);
  router.get("/:token/", async (c) => {
    const target = await findTarget(service, options, c);
    return showPage(c, presentPage(service, c, await settleTarget(service, target)));
  });
  router.post("/:token/", async (c) => {
    const { checkout } = requireCheckout(await findTarget(service, options, c));
    const { method, phone } = await c.req.parseBody();
    if (typeof method !== "string" || !isMethod(method)) throw new ServiceError("not_found");
    await chooseMethod(service, checkout, method, phoneOf(phone));
    return back(service, c);
  });
  router.post("/:token/change/", async (c) => {
    const { checkout } = requireCheckout(await findTarget(service, options, c));
    await closeOpenAttempt(service, checkout);
    return back(service, c);
  });
  // The customer comes back from the gateway's page for cards. Nothing in the address is trusted.
  router.get("/:token/return/", async (c) => {
    const { checkout } = requireCheckout(await findTarget(service, options, c));
    await checkCardPage(service, checkout);
    return back(service, c);
  });
  router.get("/:token/failed/", async (c) => {
    const { checkout } = requireCheckout(await findTarget(service, options, c));
    await leaveFailedPage(service, checkout);
    return back(service, c);
  });
  router.get("/:token/state/", async (c) => {
    const target = await settleTarget(service, await findTarget(service, options, c));
    return c.text(presentPage(service, c, target).stateKey, 200, FRAGMENT_HEADERS);
  });
  router.get("/:token/live/", (c) => live(service, options, c));
  router.get("/:token/qr/", async (c) => {
    const payment = await findPayable(service, await findTarget(service, options, c));
    const image = payment && await fetchQrImage(service, payment);
    if (!image) throw new ServiceError("not_found");
    return c.body(image.bytes, 200, { ...FRAGMENT_HEADERS, "Content-Type": image.type });
  });
  router.get("/:token/qr.png/", async (c) => {
    const payment = await findPayable(service, await findTarget(service, options, c));
    const qr_string = payment?.qr_string ?? null;
    const image = qr_string === null ? null : drawQrImage(qr_string);
    if (!image) throw new ServiceError("not_found");
    return c.body(image, 200, { ...FRAGMENT_HEADERS, "Content-Type": "image/png" });
  });
  return router;
}

/** The address contains a secret, so no log, metric or span has it. */
async function hideAddress(c: PayContext, next: Next): Promise<void> {
  c.env.route = "/pay/";
  await inSpanWithoutAddress(c.req.method, "/pay/", next);
}

/** Customers get a page in their language, and the log the cause. */
function showProblem(service: Service, c: PayContext, thrown: unknown): Response {
  const { status, headers } = recordError(thrown, c.env);
  const kind = status === 404 ? "unknown" : "unavailable";
  const page = renderProblem({ language: languageOf(c, null), path: pathOf(service, c), kind });
  return c.body(page, status as 404, { ...PAGE_HEADERS, ...headers });
}

/**
 * For images that may be SVG files: a logo, or a QR code of the gateway. Browsers then run no
 * scripts of the file, even if it is opened by itself.
 */
const IMAGE_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** The headers of what a page loads: its state and QR codes. */
const FRAGMENT_HEADERS = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": IMAGE_POLICY,
  "Referrer-Policy": "no-referrer",
  "X-Robots-Tag": "noindex, nofollow",
};

/** The files of all pages. They contain no secret, so browsers may keep them for a while. */
function addAssets(router: Hono<AppEnv>, { merchant, logo }: Service): void {
  const headers = (type: string) => ({ "Content-Type": type, "Cache-Control": "max-age=300" });
  const { name, color } = merchant;
  router.get(
    "/pay.css/",
    async (c) => c.body(await readStylesheet(color), 200, headers("text/css; charset=utf-8")),
  );
  router.get(
    "/pay.js/",
    async (c) => c.body(await readScript(), 200, headers("text/javascript; charset=utf-8")),
  );
  router.get(
    "/icon.svg/",
    (c) =>
      c.body(drawIcon({ name: name ?? "", color, logoPath: null }), 200, headers("image/svg+xml")),
  );
  if (!logo) return;
  router.get(
    "/logo/",
    (c) =>
      c.body(logo.bytes, 200, {
        ...headers(logo.type),
        "Content-Security-Policy": IMAGE_POLICY,
      }),
  );
}

function tooLarge(): never {
  throw new ServiceError("payload_too_large");
}

type PayContext = Context<AppEnv>;

/** Throws `not_found` for a token that this installation did not make, and for a dead link. */
async function findTarget(
  service: Service,
  { limit, trustedProxies }: PayOptions,
  c: PayContext,
): Promise<Target> {
  const found = service.links.read(c.req.param("token") ?? "");
  if (!found) {
    limit.count(`address:${clientAddress(c, trustedProxies)}`);
    throw new ServiceError("not_found");
  }
  if (found.kind === "payment") {
    const payment = await readPaymentOfLink(service, found.id);
    if (!payment) throw new ServiceError("not_found");
    return { kind: "payment", payment };
  }
  const checkout = await findCheckoutOfLink(service, found.id);
  if (!checkout) throw new ServiceError("not_found");
  return { kind: "checkout", checkout };
}

/** The page is right even if the job that follows a change of a payment is late. */
async function settleTarget(service: Service, target: Target): Promise<ShownRecords> {
  if (target.kind === "payment") return { ...target, payments: [target.payment] };
  const checkout = await settle(service, target.checkout, "page");
  // After the checkout: the payment of a paid checkout is then paid as well.
  return { kind: "checkout", checkout, payments: await readCheckoutPayments(service, checkout) };
}

function requireCheckout(target: Target) {
  if (target.kind === "checkout") return target;
  throw new ServiceError("not_found");
}

async function findPayable(service: Service, target: Target): Promise<GatewayPayment | null> {
  if (target.kind === "payment") return isPayable(target.payment) ? target.payment : null;
  const attempt = openAttempt(target.checkout);
  if (!attempt) return null;
  const payments = paymentsOf(attempt, await readCheckoutPayments(service, target.checkout));
  return payments.find(isPayable) ?? null;
}

/** Null: the form has no number. Empty: it has one that cannot be right. */
function phoneOf(sent: unknown): string | null {
  if (typeof sent !== "string") return null;
  // Pasted numbers contain all kinds of spaces, hyphens and invisible marks.
  const digits = sent.replaceAll(/[^\p{L}\p{N}+]/gu, "");
  return /^\+?\d{8,15}$/.test(digits) ? digits : "";
}

function presentPage(service: Service, c: PayContext, target: ShownRecords): PageModel {
  const context: PageContext = {
    service,
    path: pathOf(service, c),
    language: languageOf(c, target.kind === "checkout" ? target.checkout.language : null),
  };
  return target.kind === "checkout"
    ? presentCheckoutPage(context, target.checkout, target.payments)
    : presentPaymentPage(context, target.payment);
}

/** As the customer's browser sees it: a proxy may have removed a part of the path. */
function pathOf({ links }: Service, c: PayContext): string {
  const base = new URL(links.publicUrl() ?? "http://localhost").pathname.replace(/\/$/, "");
  return `${base}/pay/${c.req.param("token")}`;
}

/** The customer's choice, the checkout's language, or that of the browser. */
function languageOf(c: PayContext, fixed: "id" | "en" | null): "id" | "en" {
  const chosen = c.req.query("lang");
  if (chosen === "id" || chosen === "en") return chosen;
  if (fixed) return fixed;
  const preferred = (c.req.header("accept-language") ?? "").toLowerCase()
    .split(",").map((each) => each.trim().slice(0, 2))
    .find((each) => each === "id" || each === "en");
  return preferred === "en" ? "en" : "id";
}

function showPage(c: PayContext, model: PageModel): Response {
  return c.body(renderPage(model), 200, PAGE_HEADERS);
}

/** To the page itself, so that a reload sends nothing again. */
function back(service: Service, c: PayContext): Response {
  const chosen = c.req.query("lang");
  const query = chosen === "id" || chosen === "en" ? `?lang=${chosen}` : "";
  return c.redirect(pathOf(service, c) + query, 303);
}

/** How often an open page looks for changes that are no events, and how long a stream lasts. */
const LOOK_MS = 15_000;
const LIFETIME_MS = 10 * 60_000;

/** Sends the state's key, and again whenever it has changed. */
async function live(service: Service, options: PayOptions, c: PayContext): Promise<Response> {
  const target = await findTarget(service, options, c);
  // A response without a body is never cancelled, so the watch would stay open.
  if (c.req.method === "HEAD") return c.body(null, 200, STREAM_HEADERS);
  const watch = await options.streams.watch(idOf(target));
  const response = streamSSE(c, async (stream) => {
    stream.onAbort(() => watch.stop());
    try {
      let last: string | null = null;
      for await (const stateKey of readStateKeys(service, options, c, watch)) {
        // A comment keeps proxies from closing the connection.
        if (stateKey === last) await stream.write(": unchanged\n\n");
        else await stream.writeSSE({ data: stateKey });
        last = stateKey;
      }
    } catch (error) {
      // The page asks for the state itself when the stream has ended. Without a page, the database
      // may have been closed, because the service stops.
      if (!watch.isStopped()) recordError(error, c.env);
    } finally {
      watch.stop();
    }
  });
  for (const [name, value] of Object.entries(STREAM_HEADERS)) response.headers.set(name, value);
  return response;
}

async function* readStateKeys(
  service: Service,
  options: PayOptions,
  c: PayContext,
  watch: EventWatch,
): AsyncGenerator<string> {
  const endsAt = performance.now() + LIFETIME_MS;
  do {
    const target = await settleTarget(service, await findTarget(service, options, c));
    yield presentPage(service, c, target).stateKey;
  } while (await watch.next(LOOK_MS) && performance.now() < endsAt);
}

function idOf(target: Target): string {
  return target.kind === "checkout" ? target.checkout.id : target.payment.id;
}
