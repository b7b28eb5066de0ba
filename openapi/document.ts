/** Generates the OpenAPI document from the routes. */

import type { OpenAPIHono } from "@hono/zod-openapi";
import { headerRef, parameterRef, registerComponents } from "./components.ts";
import { introduce } from "./introduction.ts";
import { nameExamples } from "./name_examples.ts";
import { shareExamples } from "./share_examples.ts";

export type Document = ReturnType<OpenAPIHono["getOpenAPI31Document"]>;

type PathItem = NonNullable<Document["paths"]>[string];

export const VERSION = "1.0.0";

/**
 * A constant, because the library's 3.0 types lack `summary` and `identifier`, and TypeScript would
 * reject them in an object literal that is passed directly.
 */
const INFO = {
  title: "Payment Gateway Integration Service",
  summary: "Charges, refunds, invoices and subscriptions, with safe retries and reliable events.",
  version: VERSION,
  contact: { name: "The operator of this installation" },
  license: { name: "MIT", identifier: "MIT" },
};

/** The groups of operations, in the order of the reference page. */
const TAGS = [
  {
    name: "Charges",
    description: "A charge starts a payment. One endpoint for every payment type: cards, bank " +
      "transfers, bills, e-wallets, QRIS, convenience stores and pay-later.",
  },
  {
    name: "Payments",
    description: "Read a payment, check its status at the gateway, cancel, expire, capture " +
      "or refund it.",
  },
  {
    name: "Refunds",
    description: "List and read the refunds of all your payments.",
  },
  {
    name: "Reviews",
    description: "Decide about card payments that the gateway's fraud detection has " +
      "challenged. Staff only.",
  },
  {
    name: "Invoices",
    description: "Bills with a hosted payment page. When the customer pays, the invoice becomes " +
      "paid and a payment is created.",
  },
  {
    name: "Checkouts",
    description:
      "Orders that the customer pays on a page of this service: create a checkout, send " +
      "the customer to its link, and wait for the event `checkout_completed`.",
  },
  {
    name: "Subscriptions",
    description: "Recurring charges on a saved card or linked account, made by the gateway. Each " +
      "charge becomes a payment.",
  },
  {
    name: "Timelines",
    description: "What happened to a payment, an invoice or a subscription, in order.",
  },
  {
    name: "Notifications",
    description:
      "The endpoint that receives notifications from the gateway and, for staff and viewers, " +
      "the notifications it received.",
  },
  {
    name: "Events",
    description:
      "Changes to payments, invoices, subscriptions and webhook endpoints: as a list for staff " +
      "and viewers, and as a real-time stream for all callers.",
  },
  {
    name: "Reports",
    description: "Statistics, lists as CSV files, and the comparison with the gateway's reports.",
  },
  {
    name: "Jobs",
    description:
      "Background jobs: charges and refunds requested with `Prefer: respond-async` and, " +
      "for staff and viewers, all other background work.",
  },
  {
    name: "Webhooks",
    description: "Endpoints that receive events, signed according to Standard Webhooks, and " +
      "their deliveries. Staff only; viewers can read them.",
    externalDocs: {
      description: "Standard Webhooks, with libraries to verify signatures",
      url: "https://www.standardwebhooks.com",
    },
  },
  { name: "Callers", description: "The current caller." },
  {
    name: "Audit",
    description: "What callers changed, tried to change, and exported. Staff and viewers only.",
  },
  { name: "Keys", description: "API keys of all users. Staff only; viewers can list them." },
  {
    name: "Health",
    description: "Service status, and probes for load balancers and supervisors.",
  },
];

/** `url`: the address of the service, which the examples show. */
export function createDocument(
  // deno-lint-ignore no-explicit-any -- the document does not depend on the router's environment
  api: OpenAPIHono<any>,
  { basePath, url }: { basePath: string; url: string },
): Document {
  registerComponents(api);
  const document = api.getOpenAPI31Document({
    openapi: "3.1.0",
    info: { ...INFO, description: introduce(url, basePath) },
    externalDocs: {
      description: "Documentation of the Midtrans gateway",
      url: "https://docs.midtrans.com",
    },
    servers: [{
      url: basePath || "/",
      description: "This server",
    }],
    security: [{ bearer: [] }],
    tags: TAGS,
  });
  for (const path of Object.values(document.paths ?? {})) {
    addBasePath(path, basePath);
    addRequestId(path);
  }
  nameExamples(document);
  shareExamples(document);
  sortSchemas(document);
  return document;
}

/** Sorts the schemas by name, so that readers find them. */
function sortSchemas({ components }: Document): void {
  const byName = Object.entries(components?.schemas ?? {}).sort(([a], [b]) => a < b ? -1 : 1);
  Object.assign(components ?? {}, { schemas: Object.fromEntries(byName) });
}

/** Adds the base path to the paths in examples of response headers, such as `Location`. */
function addBasePath({ get, post, patch, delete: remove }: PathItem, basePath: string): void {
  const operations = [get, post, patch, remove].filter((each) => each !== undefined);
  for (const response of operations.flatMap(({ responses }) => Object.values(responses ?? {}))) {
    if (!response.headers) continue;
    // Replaced, not changed, because responses share these objects.
    const headers = Object.entries<{ example?: unknown }>(response.headers).map(
      ([name, header]) => {
        const { example } = header;
        if (typeof example !== "string") return [name, header];
        return [name, { ...header, example: example.replace(/^(<?)\//, `$1${basePath}/`) }];
      },
    );
    response.headers = Object.fromEntries(headers);
  }
}

/** Adds the `X-Request-Id` header to every request and response. */
function addRequestId({ get, post, patch, delete: remove }: PathItem): void {
  for (const operation of [get, post, patch, remove].filter((each) => each !== undefined)) {
    operation.parameters = [...operation.parameters ?? [], parameterRef("RequestId")];
    for (const response of Object.values(operation.responses ?? {})) {
      // Only responses that the HTTP server itself sends are references; they lack the header.
      if (response.$ref) continue;
      response.headers = { ...response.headers, "X-Request-Id": headerRef("RequestId") };
    }
  }
}
