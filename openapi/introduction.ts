/** The introduction of the OpenAPI document: how to use the API, one section per topic. */

/** A code fence. In a template string each backtick would need a backslash. */
const FENCE = "```";

/** `url` and `basePath`: the address of the service, and the prefix of its paths. */
export function introduce(url: string, basePath: string): string {
  return INTRODUCTION.replaceAll(DEFAULT_URL, url)
    .replaceAll("](/", `](${basePath}/`)
    .replaceAll(/^((?:GET|Link:) <?)\//gm, `$1${basePath}/`);
}

/** The address in development. */
export const DEFAULT_URL = "http://127.0.0.1:8000";

export const INTRODUCTION = `
A payment API in front of the Midtrans payment gateway. It charges customers, stores every payment,
and makes retries safe: no customer is charged twice, and no payment is lost. The
[guides](/guides/) show each task step by step, staff find and refund payments in the
[console](/console/), and the [welcome page](/) links to all pages of the service.

## Authentication

Send a credential with every request: an API key (\`gk_…\`) or, if the service is configured for it, a
JWT. The operator of the service creates keys. In development, \`deno task start\` prints a key and the
URL.

${FENCE}sh
export URL=${DEFAULT_URL} KEY=gk_…
curl $URL/me/ -H "Authorization: Bearer $KEY"
${FENCE}

You can read and change your own resources. With a staff credential (a key created with \`--staff\`, or a
JWT with the staff claim) you can read and change the resources of all users. With a viewer
credential (\`--viewer\`, or the viewer claim) you can read what staff can read, but change nothing:
requests other than GET and HEAD return 403, and so does \`GET …/check_status/\`, because it updates the
resource. Without a staff or viewer credential, a resource of another user returns 404, as if it did not
exist. \`GET /me/\` shows your \`role\`.

## First charge

Choose a payment type, send the amount, and show the customer the payment instructions from the
response.

${FENCE}sh
curl $URL/charge/ -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" -d '{
    "payment_type": "bank_transfer",
    "bank": "bca",
    "gross_amount": 150000
  }'
${FENCE}

In this example, show \`va_number\`, the number of the virtual account that the customer transfers the
money to. Then wait for the event \`payment_settled\`, or poll \`GET /payments/{pk}/\` until \`is_paid\` is
true. Only these two confirm the payment; a browser redirect or a message from the customer does not.

## Idempotency

Send a unique \`Idempotency-Key\` with every POST that moves money. After a timeout or a broken
connection, send the same request with the same key:

${FENCE}sh
curl $URL/charge/ -H "Authorization: Bearer $KEY" \\
  -H "Idempotency-Key: order-1893" \\
  -H "Content-Type: application/json" \\
  -d '{"payment_type":"qris","gross_amount":150000}'
${FENCE}

The service returns the stored response with \`Idempotency-Replayed: true\`, or resumes the request
where it was interrupted. It never creates a second payment, refund, invoice or subscription. A key
belongs to one caller and one path, and is valid for at least 24 hours. The same key with a different body
returns 422; while the first request is in progress, the response is 409 with \`Retry-After\`.

## Errors

Errors are problem details (RFC 9457, \`application/problem+json\`). Branch on \`code\`, which is stable;
each operation lists its codes. \`instance\` is the request id, as in \`X-Request-Id\`.

${FENCE}json
{
  "type": "urn:payment-gateway:problem:gateway_timeout",
  "title": "The gateway did not respond in time",
  "status": 504,
  "detail": null,
  "instance": "5b0c7a4e-2f61-4c1d-9a38-e1f06d7b9c25",
  "code": "gateway_timeout",
  "payment_id": "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  "order_id": "order-1893",
  "outcome": "unknown"
}
${FENCE}

If an operation at the gateway failed, \`outcome\` is \`refused\` or \`unknown\`. \`refused\`: the gateway did
not perform it. \`unknown\`: the gateway may have performed it; the service checks this and updates the
payment. Read the payment, or retry with the same \`Idempotency-Key\`. Invalid input is a
\`validation_error\` whose \`errors\` lists each invalid field. A request that is not valid HTTP, for
example one with far too many headers, gets a 400 without a body.

## Pagination

Lists are arrays, newest first unless the operation says otherwise, and are returned in pages. The
\`Link\` header has the URL of the next page; the last page has no \`Link\`:

${FENCE}http
GET /payments/?limit=20 HTTP/1.1

HTTP/1.1 200 OK
Link: </payments/?limit=20&cursor=AZejwl9OfWGfCyxk0bCn5Q>; rel="next"
${FENCE}

New items do not shift later pages.

## Amounts and times

Amounts are in rupiah: whole numbers in requests, strings with two decimals in responses, so that
clients do not need floating point. Times are RFC 3339 in UTC.

${FENCE}json
{
  "gross_amount": "150000.00",
  "currency": "IDR",
  "created_at": "2026-03-05T04:12:09.114Z"
}
${FENCE}

In requests, null is the same as omitting a field, except in \`PATCH /webhook-endpoints/{pk}/\`, where
it clears \`event_names\` or \`description\`. Empty text (\`""\`) in an optional text field, such as
a name or a reason, is the same as omitting it. It is rejected in \`order_id\`, \`invoice_number\`,
\`va_number\`, \`callback_url\` and \`gopay_account_id\`, and in PATCH requests. Unknown fields and
query parameters are rejected with \`validation_error\`, which suggests a known name if one is
similar; only \`metadata\` can have any content. In a charge, fields of another payment type are
ignored, except \`custom_expiry\`, which is rejected.

A resource always has all its fields; a field without a value is null. An error has only the fields
that belong to its \`code\`. Within a major version nothing is removed, but new fields, enum values
and events can be added.

## Asynchronous requests

With \`Prefer: respond-async\`, a charge or refund immediately returns 202 with a job:

${FENCE}sh
curl -i $URL/charge/ -H "Authorization: Bearer $KEY" \\
  -H "Prefer: respond-async" \\
  -H "Idempotency-Key: order-1894" \\
  -H "Content-Type: application/json" \\
  -d '{"payment_type":"qris","gross_amount":150000}'
${FENCE}

Poll the job at \`Location\` until it is \`succeeded\`, with the payment in \`result\`, or \`failed\`. A
retried job never charges twice.

## Events and webhooks

Most changes of a resource create an event; \`EventName\` lists all events. Receive events in real
time from \`GET /events/stream/\` (server-sent events, which resume after a disconnect), or by
webhook. Staff create webhook endpoints:

${FENCE}sh
curl $URL/webhook-endpoints/ \\
  -H "Authorization: Bearer $STAFF_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{ "url": "https://shop.example/webhooks" }'
${FENCE}

Webhooks are signed according to [Standard Webhooks](https://www.standardwebhooks.com), with the
secret from the response. Verify the raw body with any library for that standard. Webhooks are
delivered at least once, and normally in order for each resource: an event waits at most five
minutes for an earlier one. Use \`webhook-id\` to deduplicate, and \`sequence\` to order.

${FENCE}ts
import { Webhook } from "standardwebhooks";

const event = new Webhook(secret).verify(
  await request.text(),
  Object.fromEntries(request.headers),
);
${FENCE}

The gateway sends its own notifications to \`POST /notification/\`: enter that URL in the gateway's
dashboard.

## Limits

The maximum body size is 256 KiB (64 MiB for \`POST /reconciliations/\`). JSON can have at most 10,000
structural characters (\`{ } [ ] : ,\` outside of strings; 20,000 for a charge). Amounts are never
rounded: \`44000.00\` and \`4.4e4\` are accepted as whole numbers, and \`0.99999999999999999999\` is
rejected.

Each caller can send 100 requests per second with bursts of 200, unless configured otherwise. Above
that, the response is 429 with \`Retry-After\`:

${FENCE}http
HTTP/1.1 429 Too Many Requests
Retry-After: 1
RateLimit: "caller";r=0;t=1
RateLimit-Policy: "caller";q=200;w=2
${FENCE}

Paths end in a slash; requests without it work as well.
`.trim();
