/** The document's introduction: how to use the service, with a few lines for each matter. */

/** Of code in a template: every backtick would need a backslash. */
const FENCE = "```";

export const INTRODUCTION = `
Stands between your software and the payment gateway (Midtrans): it charges customers, keeps every
payment, and makes sure that nothing is charged twice and nothing is lost.

## Authentication

Send a credential with every request: an API key (\`gk_…\`) or, where the service is set up for it, a
JWT. Whoever runs the service makes keys; \`deno task start\` on your own machine prints one, and the
address.

${FENCE}sh
export URL=http://127.0.0.1:8000 KEY=gk_…
curl $URL/me/ -H "Authorization: Bearer $KEY"
${FENCE}

You see and change what is your own; staff see and change everything. What belongs to somebody else
is 404, as if it did not exist.

## A first charge

Choose a payment type, send the amount, show the customer what the answer says.

${FENCE}sh
curl $URL/charge/ -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" -d '{
    "payment_type": "bank_transfer",
    "bank": "bca",
    "gross_amount": 150000
  }'
${FENCE}

Here that is \`va_number\`, the account to transfer to. Then wait for the event \`payment_settled\`, or
read \`GET /payments/{pk}/\` until \`is_paid\`: that, and nothing that a customer says or a browser
brings back, means that you have the money.

## Idempotency

Give every POST that moves money an \`Idempotency-Key\` of your own. After a time-out or a broken
connection send the same request with the same key:

${FENCE}sh
curl $URL/charge/ -H "Authorization: Bearer $KEY" \\
  -H "Idempotency-Key: order-1893" \\
  -H "Content-Type: application/json" \\
  -d '{"payment_type":"qris","gross_amount":150000}'
${FENCE}

The first answer comes again, with \`Idempotency-Replayed: true\`, or the service goes on where it was
cut short. It never makes a second payment, refund, invoice or subscription. Keys are yours, hold for
one path, and are kept for 24 hours. The same key with another body is 422; while the first request
still runs it is 409 with \`Retry-After\`.

## Errors

Errors are problem documents (RFC 9457, \`application/problem+json\`). Go by \`code\`, which is stable;
each operation lists its own. \`instance\` is the request's id, as in \`X-Request-Id\`.

${FENCE}json
{
  "type": "urn:payment-gateway:problem:gateway_timeout",
  "title": "The gateway did not answer in time",
  "status": 504,
  "detail": null,
  "instance": "5b0c7a4e-2f61-4c1d-9a38-e1f06d7b9c25",
  "code": "gateway_timeout",
  "payment_id": "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  "order_id": "order-1893",
  "outcome": "unknown"
}
${FENCE}

Where the gateway was asked, \`outcome\` says what became of it. \`refused\`: nothing happened. \`unknown\`:
it may have; the service finds out by itself, and the payment will tell. Wrong input is
\`validation_error\`, and \`errors\` names each field. Only what cannot be read at all, such as far
too many headers, is a 400 without any of this.

## Lists

Lists are arrays, newest first, a page at a time. The next page is in the header \`Link\`, and the last
one has none:

${FENCE}http
GET /payments/?limit=20 HTTP/1.1

HTTP/1.1 200 OK
Link: </payments/?limit=20&cursor=AZejwl9OfWGfCyxk0bCn5Q>; rel="next"
${FENCE}

What arrives while you read shifts nothing.

## Amounts and times

Money is rupiah: whole numbers in requests, strings with two decimals in responses, so that no
floating point ever touches it. Times are RFC 3339 in UTC.

${FENCE}json
{
  "gross_amount": "150000.00",
  "currency": "IDR",
  "created_at": "2026-03-05T04:12:09.114Z"
}
${FENCE}

In requests null is the same as leaving a member out (but for \`PATCH\`, where it empties the member),
and members that are not known are ignored.
Resources always have every member, null where there is nothing; problems have those that belong to
their \`code\`. Within a version nothing is taken away, but expect more: new members, new values of
those that have a list of them, new events.

## Without waiting

With \`Prefer: respond-async\` a charge or a refund is answered at once with 202 and a job:

${FENCE}sh
curl -i $URL/charge/ -H "Authorization: Bearer $KEY" \\
  -H "Prefer: respond-async" \\
  -H "Idempotency-Key: order-1894" \\
  -H "Content-Type: application/json" \\
  -d '{"payment_type":"qris","gross_amount":150000}'
${FENCE}

Read the job at \`Location\` until it is \`succeeded\`, with the payment in its \`result\`, or \`failed\`. A
job that is tried again never charges twice.

## Events and webhooks

Every change is an event, whoever caused it. Hear of them live with \`GET /events/stream/\` (server-sent
events, which go on where they were cut off), or by webhook, for which staff make an endpoint:

${FENCE}sh
curl $URL/webhook-endpoints/ \\
  -H "Authorization: Bearer $STAFF_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{ "url": "https://shop.example/webhooks" }'
${FENCE}

Webhooks are signed with the secret that the answer shows, as
[Standard Webhooks](https://www.standardwebhooks.com) says; verify them over the bytes that came, with
any library of that name. They come at least once, and for one resource in their order: \`webhook-id\`
tells repeats apart.

${FENCE}ts
import { Webhook } from "standardwebhooks";

const event = new Webhook(secret).verify(
  await request.text(),
  Object.fromEntries(request.headers),
);
${FENCE}

The gateway itself tells this service what happens at \`POST /notification/\`: enter that address in its
dashboard.

## Limits

A body has at most 256 KiB. Each caller has so many requests a second (100, and 200 at once, unless set
otherwise); what is too much is 429, and \`Retry-After\` says when to come back:

${FENCE}http
HTTP/1.1 429 Too Many Requests
Retry-After: 1
RateLimit: "caller";r=0;t=1
RateLimit-Policy: "caller";q=200;w=2
${FENCE}

Paths end in a slash; without it they are the same.
`.trim();
