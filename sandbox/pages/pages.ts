/** All pages of the sandbox: the dashboard, the customer's screens, documents and assets. */

import { Hono } from "hono";
import { Refusal } from "../http/refusal.ts";
import type { OpenWorld } from "../world/world.ts";
import base from "./assets/base.css" with { type: "text" };
import cardScript from "./assets/card_script.js" with { type: "text" };
import copy from "./assets/copy.js" with { type: "text" };
import details from "./assets/details.js" with { type: "text" };
import dom from "./assets/dom.js" with { type: "text" };
import list from "./assets/list.css" with { type: "text" };
import narrow from "./assets/narrow.css" with { type: "text" };
import refresh from "./assets/refresh.js" with { type: "text" };
import sandbox from "./assets/sandbox.js" with { type: "text" };
import screens from "./assets/screens.css" with { type: "text" };
import snap from "./assets/snap.js" with { type: "text" };
import snapCss from "./assets/snap.css" with { type: "text" };
import snapPage from "./assets/snap_page.js" with { type: "text" };
import threeDs from "./assets/three_ds.js" with { type: "text" };
import { addLinkAccount } from "./customer/link_account.ts";
import { addPay } from "./customer/pay.ts";
import { addPaymentLink } from "./customer/payment_link.ts";
import { addSnap } from "./customer/snap.ts";
import { addThreeDs } from "./customer/three_ds.ts";
import { addDashboard } from "./dashboard/dashboard.ts";
import { addInvoiceList } from "./dashboard/invoices.ts";
import { addSubscriptionList } from "./dashboard/subscriptions.ts";
import { addInvoicePdf } from "./documents/invoice_pdf.ts";
import { addQrImages } from "./documents/qr_images.ts";
import { message } from "./shared/layout.ts";

export function createPages(world: OpenWorld): Hono {
  const pages = new Hono();
  // No middleware for all paths: the gateway's endpoints share the path space with the pages.
  serveAssets(pages);
  addDashboard(pages, world);
  addInvoiceList(pages, world);
  addSubscriptionList(pages, world);
  addPay(pages, world);
  addThreeDs(pages, world);
  addLinkAccount(pages, world);
  addPaymentLink(pages, world);
  addSnap(pages, world);
  addInvoicePdf(pages, world);
  addQrImages(pages, world);

  pages.onError((error, c) => {
    // Other errors are internal and reported by the server.
    if (!(error instanceof Refusal)) throw error;
    if (error.code !== 404) return message(c, "Request failed", error.message, 409);
    const text =
      "No record matches this URL. The sandbox may have been restarted without its data.";
    return message(c, "Not found", text, 404);
  });
  return pages;
}

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
  <rect width="32" height="32" rx="8" fill="#0f766e"/>
  <rect x="6" y="9" width="20" height="14" rx="3" fill="none" stroke="#fff" stroke-width="2.5"/>
  <path d="M6 15h20" stroke="#fff" stroke-width="2.5"/>
</svg>`;

function serveAssets(pages: Hono): void {
  const serve = (path: string, type: string, text: string) =>
    pages.get(path, (c) =>
      c.body(text, 200, {
        "Content-Type": `${type}; charset=utf-8`,
        "Cache-Control": "no-cache",
        "X-Content-Type-Options": "nosniff",
      }));
  const scripts = { copy, details, dom, refresh, sandbox, snap_page: snapPage, three_ds: threeDs };
  for (const [name, text] of Object.entries(scripts)) {
    serve(`/assets/${name}.js`, "text/javascript", text);
  }
  // The paths of the gateway's own scripts.
  serve("/snap/snap.js", "text/javascript", `(() => {\n${snap}})();`);
  serve("/v2/assets/js/midtrans-new-3ds.min.js", "text/javascript", cardScript);
  serve("/assets/sandbox.css", "text/css", base + list + screens + snapCss + narrow);
  serve("/favicon.ico", "image/svg+xml", ICON);
}
