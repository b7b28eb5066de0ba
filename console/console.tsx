/** `/console/`: pages for staff and viewers. Everything they do goes through the core, like the API. */

import type { Hono } from "hono";
import { createFixedResponse } from "../openapi/fixed_response.ts";
import { parsePathId } from "../routes/shared/paths.ts";
import type { AppEnv } from "../routes/shared/router.ts";
import { type ConsoleBase, type ConsoleDeps, createBase } from "./base.tsx";
import { addAudit } from "./audit.tsx";
import { addEvents } from "./events.tsx";
import { ConsoleProblem } from "./explain.ts";
import { addInvoice } from "./invoice.tsx";
import { addInvoiceForm } from "./invoice_form.tsx";
import { addInvoices } from "./invoices.tsx";
import { addJobs } from "./jobs.tsx";
import { addKeys } from "./keys.tsx";
import { addNotifications } from "./notifications.tsx";
import { addOverview } from "./overview.tsx";
import { addPayment } from "./payment.tsx";
import { addPaymentActions } from "./payment_actions.tsx";
import { addPaymentAnswers } from "./payment_answers.tsx";
import { addPayments } from "./payments.tsx";
import { addReconciliation } from "./reconciliation.tsx";
import { addReconciliations } from "./reconciliations.tsx";
import { addRefunds } from "./refunds.tsx";
import { addReports } from "./reports.tsx";
import { setPreference, THEMES, viewOf } from "./session.ts";
import { addSessions } from "./sessions.tsx";
import { addSignIn } from "./sign_in.tsx";
import { addStatus } from "./status.tsx";
import { addWebhookForms } from "./webhook_forms.tsx";
import { addSubscription } from "./subscription.tsx";
import { addSubscriptions } from "./subscriptions.tsx";
import { addWebhooks } from "./webhooks.tsx";
import { isLanguage } from "./words/languages.ts";

export function createConsole(deps: ConsoleDeps): Hono<AppEnv> {
  const base = createBase(deps);
  addAssets(base);
  addSignIn(base);
  addPreferences(base);
  addOverview(base);
  addPayments(base);
  addPayment(base);
  addPaymentActions(base);
  addPaymentAnswers(base);
  addRefunds(base);
  addInvoices(base);
  addInvoiceForm(base);
  addInvoice(base);
  addSubscriptions(base);
  addSubscription(base);
  addReports(base);
  addReconciliations(base);
  addReconciliation(base);
  addEvents(base);
  addNotifications(base);
  addWebhookForms(base);
  addWebhooks(base);
  addJobs(base);
  addKeys(base);
  addSessions(base);
  addAudit(base);
  addStatus(base);
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
function addNotFound({ deps, router }: ConsoleBase): void {
  router.all("*", (c) => {
    throw new ConsoleProblem("not_found", { detail: viewOf(c, deps.basePath).words.notFound });
  });
}

/** The events that update an open page. */
function addLiveEvents({ deps, router, signedIn }: ConsoleBase): void {
  router.get("/live/", async (c) => {
    const { session } = await signedIn(c);
    const resource = c.req.query("resource");
    const resourceId = resource === undefined ? null : parsePathId(resource);
    const body = await deps.streams.open(session.caller, { names: null, resourceId, after: null });
    return new Response(body, {
      headers: { "Content-Type": "text/event-stream", "Cache-Control": "no-store, no-transform" },
    });
  });
}
