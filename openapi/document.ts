/** The OpenAPI document: made from the routes, once. */

import type { OpenAPIHono } from "@hono/zod-openapi";
import { headerRef, parameterRef, registerComponents } from "./components.ts";
import { INTRODUCTION } from "./introduction.ts";
import { shareExamples } from "./share_examples.ts";

export type Document = ReturnType<OpenAPIHono["getOpenAPI31Document"]>;

type PathItem = NonNullable<Document["paths"]>[string];

export const VERSION = "1.0.0";

/** Apart, because the library's types are those of 3.0, which knew neither summary nor identifier. */
const INFO = {
  title: "Payment Gateway Integration Service",
  summary: "Charges, refunds, invoices and subscriptions, with nothing lost and nothing twice.",
  version: VERSION,
  description: INTRODUCTION,
  contact: { name: "Whoever runs this installation" },
  license: { name: "MIT", identifier: "MIT" },
};

// deno-lint-ignore no-explicit-any -- whatever the router's environment, its document is the same
export function createDocument(api: OpenAPIHono<any>, basePath: string): Document {
  registerComponents(api);
  const document = api.getOpenAPI31Document({
    openapi: "3.1.0",
    info: { ...INFO },
    externalDocs: {
      description: "The gateway's own documentation",
      url: "https://docs.midtrans.com",
    },
    servers: [{
      url: basePath || "/",
      description: "This installation: where the document came from.",
    }],
    security: [{ bearer: [] }],
    tags: [
      {
        name: "Charges",
        description:
          "A charge starts a payment. One endpoint for every payment type: cards, bank " +
          "transfers, bills, e-wallets, QRIS, convenience stores and pay-later.",
      },
      {
        name: "Payments",
        description: "What became of a charge: read it, ask the gateway for it, end it before it " +
          "is paid (cancel, expire), take what a card holds ready (capture), pay back (refund).",
      },
      {
        name: "Invoices",
        description: "Bills with a page to pay them on. They become paid by themselves, and what " +
          "was paid is a payment.",
      },
      {
        name: "Subscriptions",
        description: "What the gateway charges a customer for by itself, time and again. Each " +
          "charge becomes a payment.",
      },
      {
        name: "Notifications",
        description:
          "What the gateway tells by itself: where it tells it, and for staff what came " +
          "of it.",
      },
      {
        name: "Events",
        description:
          "What happened to payments, invoices and subscriptions, one by one: as a list for " +
          "staff, and live for everybody.",
      },
      {
        name: "Jobs",
        description:
          "What is done in the background: a charge or a refund that was asked for with " +
          "`Prefer: respond-async`, and for staff all the rest.",
      },
      {
        name: "Webhooks",
        description: "Where events are sent to as they happen, signed as Standard Webhooks says: " +
          "endpoints, and what was delivered to them; for staff.",
        externalDocs: {
          description: "Standard Webhooks, with libraries that verify them",
          url: "https://www.standardwebhooks.com",
        },
      },
      { name: "Callers", description: "Who is calling." },
      { name: "Health", description: "For balancers and supervisors." },
    ],
  });
  for (const path of Object.values(document.paths ?? {})) addCommon(path);
  shareExamples(document);
  sortSchemas(document);
  return document;
}

/** By name, as who looks for one in a list of seventy expects. */
function sortSchemas({ components }: Document): void {
  const byName = Object.entries(components?.schemas ?? {}).sort(([a], [b]) => a < b ? -1 : 1);
  Object.assign(components ?? {}, { schemas: Object.fromEntries(byName) });
}

/** What the door takes with every request, and gives every answer. */
function addCommon({ get, post, patch, delete: remove }: PathItem): void {
  for (const operation of [get, post, patch, remove].filter((each) => each !== undefined)) {
    operation.parameters = [...operation.parameters ?? [], parameterRef("RequestId")];
    for (const answer of Object.values(operation.responses ?? {})) {
      // What is but referred to is not given by the door.
      if (answer.$ref) continue;
      answer.headers = { ...answer.headers, "X-Request-Id": headerRef("RequestId") };
    }
  }
}
