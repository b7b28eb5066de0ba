/** The OpenAPI document: made from the routes, once. */

import type { OpenAPIHono } from "@hono/zod-openapi";
import { headerRef, parameterRef, registerComponents } from "./components.ts";

export type Document = ReturnType<OpenAPIHono["getOpenAPI31Document"]>;

type PathItem = NonNullable<Document["paths"]>[string];

export const VERSION = "1.0.0";

const DESCRIPTION = `
Stands between your software and the payment gateway (Midtrans): it charges customers, keeps every
payment, and makes sure that nothing is charged twice and nothing is lost.

**Start** with \`POST /charge/\`: choose a payment type, send the amount, show the customer what the
answer says, and read \`GET /payments/{pk}/\` until \`is_paid\`.

**Authentication.** Send \`Authorization: Bearer <credential>\` with every request; a credential is an
API key (\`gk_…\`) or, where the service is set up for it, a JWT. You see and change what is your own;
staff see and change everything. What belongs to somebody else is 404, as if it did not exist.

**Money** is rupiah. Requests hold whole numbers (\`10000\`), responses strings with two decimals
(\`"10000.00"\`). **Times** are RFC 3339 in UTC.

**Bodies** are JSON of at most 256 KiB. Members that are not known are ignored, and null is the same
as leaving a member out. In responses every member is always there; what is absent is null.

**Once, however often sent.** Give every POST an \`Idempotency-Key\`. After a time-out or a broken
connection send the same request with the same key: the first answer comes again, with
\`Idempotency-Replayed: true\`, or the service goes on where it was cut short. It never makes a second
payment, refund, invoice or subscription. Keys are yours, hold for one path, and are kept for 24
hours.

**Notifications.** The gateway tells what happens to a payment by itself: set its notification address
to \`POST /notification/\` here, which is open to everybody and believes only what the gateway signed
or says when asked. Staff see what came and what came of it (\`GET /notifications/\`), and every change
of every payment, whoever caused it, in an order that never changes (\`GET /events/\`).

**Events.** Hear of every change as it happens: live with \`GET /events/stream/\` (server-sent events,
which go on where they were cut off), or by webhook, for which staff make an endpoint
(\`POST /webhook-endpoints/\`). Webhooks are signed as Standard Webhooks says, come at least once, and
for one resource in their order; \`webhook-id\` tells repeats apart.

**Without waiting.** With \`Prefer: respond-async\` a charge or a refund is answered at once with 202
and a job; its address is in \`Location\`. A job that is tried again never charges twice.

**Lists** are arrays, newest first, a page at a time; the next page is in the header \`Link\`.

**Paths** end in a slash; without it they are the same.

**Limits.** Too many requests are \`429\` with \`Retry-After\`.

**Errors** are problem documents (RFC 9457, \`application/problem+json\`) whose \`code\` is stable; each
operation lists its own. \`instance\` is the request's id, as in \`X-Request-Id\`.
`.trim();

// deno-lint-ignore no-explicit-any -- whatever the router's environment, its document is the same
export function createDocument(api: OpenAPIHono<any>, basePath: string): Document {
  registerComponents(api);
  const document = api.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Payment Gateway Integration Service",
      version: VERSION,
      description: DESCRIPTION,
    },
    servers: [{ url: basePath || "/" }],
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
      },
      { name: "Callers", description: "Who is calling." },
      { name: "Health", description: "For balancers and supervisors." },
    ],
  });
  for (const path of Object.values(document.paths ?? {})) addCommon(path);
  return document;
}

/** What the door takes with every request, and gives every answer. */
function addCommon({ get, post, patch, delete: remove }: PathItem): void {
  for (const operation of [get, post, patch, remove].filter((each) => each !== undefined)) {
    operation.parameters = [...operation.parameters ?? [], parameterRef("RequestId")];
    for (const answer of Object.values(operation.responses ?? {})) {
      answer.headers = { ...answer.headers, "X-Request-Id": headerRef("RequestId") };
    }
  }
}
