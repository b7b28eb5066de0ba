/** The pages of the sandbox: what its user sees, and what a customer would. */

import { Hono } from "hono";
import { Refusal } from "../http/refusal.ts";
import type { OpenWorld } from "../world/world.ts";
import { serveAssets } from "./assets.ts";
import { addLinkAccount } from "./customer/link_account.ts";
import { addPay } from "./customer/pay.ts";
import { addPaymentLink } from "./customer/payment_link.ts";
import { addThreeDs } from "./customer/three_ds.ts";
import { addDashboard } from "./dashboard/dashboard.ts";
import { message } from "./message.ts";
import { addInvoicePdf } from "./pdf/invoice_pdf.ts";
import { addQrImages } from "./qr/qr_images.ts";

export function createPages(world: OpenWorld): Hono {
  const pages = new Hono();
  // No middleware for all paths: the gateway's own endpoints live beside these pages.
  serveAssets(pages);
  addDashboard(pages, world);
  addPay(pages, world);
  addThreeDs(pages, world);
  addLinkAccount(pages, world);
  addPaymentLink(pages, world);
  addInvoicePdf(pages, world);
  addQrImages(pages, world);

  pages.onError((error, c) => {
    // Whatever is no refusal is a mistake, which the sandbox itself reports.
    if (!(error instanceof Refusal)) throw error;
    if (error.code !== 404) return message(c, "That did not work", error.message, 409);
    const text = "The sandbox knows nothing by this address. It may have been started anew since.";
    return message(c, "There is nothing here", text, 404);
  });
  return pages;
}
