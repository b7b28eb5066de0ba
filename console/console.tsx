/**
 * `/console/`: pages for staff and viewers. Everything they do goes through the core, like the API.
 */

import type { Hono } from "hono";
import { createFixedResponse } from "../openapi/fixed_response.ts";
import { sendStream } from "../http/event_stream.ts";
import { parsePathId } from "../http/paths.ts";
import type { AppEnv } from "../http/router.ts";
import { addAudit } from "./access/audit.tsx";
import { addKeys } from "./access/keys.tsx";
import { addSessions } from "./access/sessions.tsx";
import { addSignIn } from "./access/sign_in.tsx";
import { addDifferences } from "./reports/differences.tsx";
import { addTakeOver } from "./reports/take_over.tsx";
import { addCheckout } from "./checkouts/checkout.tsx";
import { addCheckoutForm } from "./checkouts/form.tsx";
import { addCheckouts } from "./checkouts/list.tsx";
import { addCustomer } from "./customers/customer.tsx";
import { addInvoiceForm } from "./invoices/form.tsx";
import { addInvoice } from "./invoices/invoice.tsx";
import { addInvoices } from "./invoices/list.tsx";
import { addDoctor } from "./operations/doctor.tsx";
import { addEvents } from "./operations/events.tsx";
import { addJobs } from "./operations/jobs.tsx";
import { addNotifications } from "./operations/notifications.tsx";
import { addStatus } from "./operations/status.tsx";
import { addWebhookForms } from "./operations/webhook_forms.tsx";
import { addWebhooks } from "./operations/webhooks.tsx";
import { addOverview } from "./overview/overview.tsx";
import { addPaymentActions } from "./payments/actions.tsx";
import { addMarkRefundDenied } from "./payments/mark_refund_denied.tsx";
import { addGatewayResponses } from "./payments/gateway_responses.tsx";
import { addPayments } from "./payments/list.tsx";
import { addPayment } from "./payments/payment.tsx";
import { addReceipt } from "./payments/receipt.tsx";
import { addRefunds } from "./payments/refunds.tsx";
import { addReconciliation } from "./reports/reconciliation.tsx";
import { addReconciliations } from "./reports/reconciliations.tsx";
import { addReports } from "./reports/reports.tsx";
import { type ConsoleBase, type ConsoleService, createBase } from "./shared/base.tsx";
import { ConsoleProblem } from "./shared/explain.ts";
import { setPreference, THEMES, viewOf } from "./shared/session.ts";
import { addSubscriptions } from "./subscriptions/list.tsx";
import { addSubscription } from "./subscriptions/subscription.tsx";
import { isLanguage } from "./words/languages.ts";

export function createConsole(service: ConsoleService): Hono<AppEnv> {
  const base = createBase(service);
  addAssets(base);
  addSignIn(base);
  addPreferences(base);
  addOverview(base);
  addPayments(base);
  addPayment(base);
  addReceipt(base);
  addPaymentActions(base);
  addMarkRefundDenied(base);
  addGatewayResponses(base);
  addRefunds(base);
  addCustomer(base);
  addCheckouts(base);
  addCheckoutForm(base);
  addCheckout(base);
  addInvoices(base);
  addInvoiceForm(base);
  addInvoice(base);
  addSubscriptions(base);
  addSubscription(base);
  addReports(base);
  addReconciliations(base);
  addReconciliation(base);
  addDifferences(base);
  addTakeOver(base);
  addEvents(base);
  addNotifications(base);
  addWebhookForms(base);
  addWebhooks(base);
  addJobs(base);
  addKeys(base);
  addSessions(base);
  addAudit(base);
  addStatus(base);
  addDoctor(base);
  addLiveEvents(base);
  addNotFound(base);
  return base.router;
}

function addAssets({ router }: ConsoleBase): void {
  router.get(
    "/console.css/",
    createFixedResponse({
      contentType: "text/css; charset=utf-8",
      cacheControl: "no-cache",
      text: async () => (await import("./console.css", { with: { type: "text" } })).default,
    }),
  );
  router.get(
    "/console.js/",
    createFixedResponse({
      contentType: "text/javascript; charset=utf-8",
      cacheControl: "no-cache",
      text: async () => (await import("./console.js", { with: { type: "text" } })).default,
    }),
  );
}

/** Changes nothing but cookies of the browser, so it needs no session. */
function addPreferences({ root, router }: ConsoleBase): void {
  router.post("/preferences/", async (c) => {
    const { language, theme, path } = await c.req.parseBody<Record<string, string>>();
    if (isLanguage(language)) setPreference(c, root, "language", language);
    if (THEMES.some((each) => each === theme)) setPreference(c, root, "theme", theme!);
    const isPath = path !== undefined && /^\/[\w/-]*$/.test(path);
    const target = root + (isPath ? path : "/");
    // The filters of the page stay.
    const page = URL.parse(c.req.header("referer") ?? "");
    return c.redirect(target + (page?.pathname === target ? page.search : ""), 303);
  });
}

/** The last route. Hono does not call `notFound` of a router that is a part of another one. */
function addNotFound({ service, router }: ConsoleBase): void {
  router.all("*", (c) => {
    throw new ConsoleProblem("not_found", { detail: viewOf(c, service.basePath).words.notFound });
  });
}

/** The events that update an open page. */
function addLiveEvents({ service, router, signedIn }: ConsoleBase): void {
  router.get("/live/", async (c) => {
    await signedIn(c);
    const resource = c.req.query("resource");
    const resourceId = resource === undefined ? null : parsePathId(resource);
    return await sendStream(c, service.streams, { names: null, resourceId, after: null });
  });
}
