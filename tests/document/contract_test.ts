import assert from "node:assert/strict";
import { EVENTS } from "../../routes/events/examples.ts";
import { checkEvent, checkResponse } from "../support/document/contract.ts";
import type { Json } from "../support/gateway/sandbox.ts";

const caller = {
  user_id: "alice",
  is_staff: false,
  role: "user",
  credential: "api_key",
  key_prefix: "gk_abc",
};

const problem = {
  type: "urn:payment-gateway:problem:unauthenticated",
  title: "A valid API key or token is required",
  status: 401,
  detail: null,
  instance: "1",
  code: "unauthenticated",
};

interface ResponseChanges {
  url?: string;
  method?: string;
  status?: number;
  type?: string;
  headers?: Record<string, string>;
  body?: Json;
}

/** Checks a response to `GET /me/` that has these changes, and returns it. */
async function check(changes: ResponseChanges = {}): Promise<Response> {
  const { url = "/me/", method = "GET", status = 200, body = caller } = changes;
  const isProblem = status >= 400;
  const { type = isProblem ? "application/problem+json" : "application/json" } = changes;
  const headers = { "Content-Type": type, "X-Request-Id": "1", ...changes.headers };
  const answer = new Response(JSON.stringify(body), { status, headers });
  return await checkResponse({ method, url }, answer);
}

Deno.test("response check: a response that matches the document passes and can still be read", async () => {
  assert.deepEqual(await (await check()).json(), caller);
  assert.equal((await check(unauthenticated)).status, 401);
  await check({ url: "/no/", status: 404, body: notFound });
  await check({ url: "/me" });
  await check({ url: "/me/?verbose=1" });
});

const unauthenticated = { status: 401, body: problem, headers: { "WWW-Authenticate": "Bearer" } };

const notFound = { ...problem, status: 404, code: "not_found" };

const UNDECLARED: Record<string, [ResponseChanges, RegExp]> = {
  "a field of a response for an unknown path": [
    { url: "/no/", status: 404, body: { ...notFound, stack: "at …" } },
    /stack/,
  ],
  "a header of a response for an unknown path": [
    { url: "/no/", status: 404, body: notFound, headers: { "X-Powered-By": "us" } },
    /the header x-powered-by is not/,
  ],
  "a content type of a response for an unknown path": [
    { url: "/no/", status: 404, body: notFound, type: "text/html" },
    /is not a problem document/,
  ],
  "a status": [{ status: 201 }, /201 of GET \/me\/: the status is not in the document/],
  "a header": [{ headers: { "X-Powered-By": "us" } }, /the header x-powered-by is not/],
  "a field": [{ body: { ...caller, shoe_size: 42 } }, /shoe_size/],
  "a field of a problem": [{ ...unauthenticated, body: { ...problem, stack: "at …" } }, /stack/],
  "a content type": [{ type: "text/html" }, /has the content type text\/html/],
  "the type of a field": [{ body: { ...caller, is_staff: "no" } }, /\/is_staff must be boolean/],
  "a code for the status": [
    { ...unauthenticated, body: { ...problem, code: "not_found" } },
    /not_found is not in the document/,
  ],
  "a code for any status": [
    { ...unauthenticated, body: { ...problem, code: "on_fire" } },
    /\/code must be equal to one of the allowed values/,
  ],
  "a route": [{ url: "/secret/" }, /200 of GET \/secret\//],
  "a method": [{ method: "PUT" }, /200 of PUT \/me\//],
};

for (const [what, [changes, message]] of Object.entries(UNDECLARED)) {
  Deno.test(`response check: fails if the document does not declare ${what}`, async () => {
    await assert.rejects(check(changes), message);
  });
}

Deno.test("response check: a missing member or header fails, and so does a value in the wrong format", async () => {
  const { user_id: _, ...withoutUser } = caller;
  await assert.rejects(check({ body: withoutUser }), /must have required property 'user_id'/);
  await assert.rejects(
    checkResponse({ method: "GET", url: "/me/" }, Response.json(caller)),
    /lacks the header X-Request-Id/,
  );
  const headers = { "Retry-After": "soon" };
  await assert.rejects(
    check({ status: 503, headers, body: { ...problem, code: "unavailable" } }),
    /Retry-After is soon/,
  );
  const job = { id: "no uuid" };
  await assert.rejects(check({ url: `/jobs/1/`, body: job }), /must match format "uuid"/);
});

const unavailable = { ...problem, status: 503, code: "unavailable" };
const limited = { ...problem, status: 429, code: "rate_limited" };
const RATE_LIMIT_HEADERS = { "Retry-After": "1", "RateLimit": "r=0", "RateLimit-Policy": "q=1" };

/** The name of a required header, and a response without it. */
const MISSING_HEADERS: [string, ResponseChanges][] = [
  ["WWW-Authenticate", { status: 401, body: problem }],
  ["Retry-After", { status: 503, body: unavailable }],
  ["Retry-After", { url: "/health/ready/", status: 503, body: unavailable }],
  ["Retry-After", {
    url: "/invoices/",
    method: "POST",
    status: 409,
    body: { ...problem, status: 409, code: "idempotency_in_progress" },
  }],
  ...Object.keys(RATE_LIMIT_HEADERS).map((name): [string, ResponseChanges] => {
    const rest = Object.entries(RATE_LIMIT_HEADERS).filter(([other]) => other !== name);
    return [name, { status: 429, body: limited, headers: Object.fromEntries(rest) }];
  }),
  ["Location", { url: "/charge/", method: "POST", status: 201 }],
  ["Location", {
    url: "/charge/",
    method: "POST",
    status: 202,
    headers: { "Preference-Applied": "respond-async" },
  }],
  ["Preference-Applied", {
    url: "/charge/",
    method: "POST",
    status: 202,
    headers: { Location: "/jobs/1/" },
  }],
  ["Allow", {
    method: "PUT",
    status: 405,
    body: { ...problem, status: 405, code: "method_not_allowed" },
  }],
];

Deno.test("response check: a response without a required header fails", async () => {
  for (const [name, changes] of MISSING_HEADERS) {
    await assert.rejects(check(changes), new RegExp(`lacks the header ${name}$`), name);
  }
});

/** Status and name of each header that a response may omit. */
const OPTIONAL_HEADERS = new Set([
  // No Link on the last page.
  "2XX Link",
  // Only a search has these.
  "2XX Search-Fields",
  "2XX Search-Limit",
  // No Idempotency-Replayed on the first response.
  "2XX Idempotency-Replayed",
  "400 Idempotency-Replayed",
  "404 Idempotency-Replayed",
  // No Retry-After where a retry would not help.
  "400 Retry-After",
]);

Deno.test("response check: only headers whose absence has a meaning are optional", async () => {
  const path = new URL("../../openapi/openapi.json", import.meta.url);
  const { paths, components } = JSON.parse(await Deno.readTextFile(path));
  const optional = new Set<string>();
  for (const { responses } of Object.values<Json>(paths).flatMap(Object.values<Json>)) {
    for (const [status, { headers = {} }] of Object.entries<Json>(responses)) {
      for (const [name, header] of Object.entries<Json>(headers)) {
        const { required } = components.headers[header.$ref?.split("/").at(-1)] ?? header;
        const kind = Number(status) < 300 ? "2XX" : status;
        if (!required) optional.add(`${kind} ${name}`);
      }
    }
  }
  assert.deepEqual(optional, OPTIONAL_HEADERS);
});

Deno.test("response check: a composed schema allows the members of its parts and no others", async () => {
  const endpoint = {
    id: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
    url: "https://shop.example/hooks",
    event_names: null,
    description: null,
    enabled: true,
    disabled_reason: null,
    failing_since: null,
    previous_secret_until: null,
    created_at: "2026-03-05T04:12:09.000Z",
    updated_at: "2026-03-05T04:12:09.000Z",
    secret: "whsec_abc",
  };
  const headers = { Location: `/webhook-endpoints/${endpoint.id}/` };
  const changes = { url: "/webhook-endpoints/", method: "POST", status: 201, headers };
  await check({ ...changes, body: endpoint });
  await assert.rejects(check({ ...changes, body: { ...endpoint, salt: "x" } }), /salt/);
});

Deno.test("response check: an undeclared member of an event fails", () => {
  const event = EVENTS.payment_settled.value;
  checkEvent(event);
  assert.throws(() => checkEvent({ ...event, shoe_size: 42 }), /shoe_size/);
  assert.throws(
    () => checkEvent({ ...event, data: { ...event.data, shoe_size: 42 } }),
    /shoe_size/,
  );
});
