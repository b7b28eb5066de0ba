import assert from "node:assert/strict";
import { EVENTS } from "../../routes/events/examples.ts";
import { checkAnswer, checkEvent } from "../support/document/contract.ts";
import type { Json } from "../support/gateway/sandbox.ts";

const caller = { user_id: "alice", is_staff: false, credential: "api_key", key_prefix: "gk_abc" };

const problem = {
  type: "urn:payment-gateway:problem:unauthenticated",
  title: "A valid API key or token is required",
  status: 401,
  detail: null,
  instance: "1",
  code: "unauthenticated",
};

interface Said {
  url?: string;
  method?: string;
  status?: number;
  type?: string;
  headers?: Record<string, string>;
  body?: Json;
}

/** What `GET /me/` is answered with, but for what is said. */
async function check(said: Said = {}): Promise<Response> {
  const { url = "/me/", method = "GET", status = 200, body = caller } = said;
  const isProblem = status >= 400;
  const { type = isProblem ? "application/problem+json" : "application/json" } = said;
  const headers = { "Content-Type": type, "X-Request-Id": "1", ...said.headers };
  const answer = new Response(JSON.stringify(body), { status, headers });
  return await checkAnswer({ method, url }, answer);
}

Deno.test("an answer as the document has it passes, and can still be read", async () => {
  assert.deepEqual(await (await check()).json(), caller);
  assert.equal((await check(refused)).status, 401);
  await check({ url: "/no/", status: 404, body: nowhere });
  await check({ url: "/me" });
  await check({ url: "/me/?verbose=1" });
});

const refused = { status: 401, body: problem, headers: { "WWW-Authenticate": "Bearer" } };

const nowhere = { ...problem, status: 404, code: "not_found" };

const REFUSED: Record<string, [Said, RegExp]> = {
  "a field of what is answered nowhere": [
    { url: "/no/", status: 404, body: { ...nowhere, stack: "at …" } },
    /stack/,
  ],
  "a header of what is answered nowhere": [
    { url: "/no/", status: 404, body: nowhere, headers: { "X-Powered-By": "us" } },
    /the header x-powered-by is not/,
  ],
  "a type of what is answered nowhere": [
    { url: "/no/", status: 404, body: nowhere, type: "text/html" },
    /is no problem document/,
  ],
  "a status": [{ status: 201 }, /201 of GET \/me\/: the status is not in the document/],
  "a header": [{ headers: { "X-Powered-By": "us" } }, /the header x-powered-by is not/],
  "a field": [{ body: { ...caller, shoe_size: 42 } }, /shoe_size/],
  "a field of a problem": [{ ...refused, body: { ...problem, stack: "at …" } }, /stack/],
  "a type": [{ type: "text/html" }, /is of text\/html/],
  "a type of a field": [{ body: { ...caller, is_staff: "no" } }, /\/is_staff must be boolean/],
  "a code": [
    { ...refused, body: { ...problem, code: "not_found" } },
    /not_found is not in the document/,
  ],
  "a code of no table": [
    { ...refused, body: { ...problem, code: "on_fire" } },
    /\/code must be equal to one of the allowed values/,
  ],
  "a route": [{ url: "/secret/" }, /200 of GET \/secret\//],
  "a method": [{ method: "PUT" }, /200 of PUT \/me\//],
};

for (const [what, [said, why]] of Object.entries(REFUSED)) {
  Deno.test(`${what} that is not declared fails`, async () => {
    await assert.rejects(check(said), why);
  });
}

Deno.test("what is declared and lacks fails, and so does a value of the wrong format", async () => {
  const { user_id: _, ...nobody } = caller;
  await assert.rejects(check({ body: nobody }), /must have required property 'user_id'/);
  await assert.rejects(
    checkAnswer({ method: "GET", url: "/me/" }, Response.json(caller)),
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
const TOO_OFTEN = { "Retry-After": "1", "RateLimit": "r=0", "RateLimit-Policy": "q=1" };

/** Answers without a header that they always have, and its name. */
const LACKING: [string, Said][] = [
  ["WWW-Authenticate", { status: 401, body: problem }],
  ["Retry-After", { status: 503, body: unavailable }],
  ["Retry-After", { url: "/health/ready/", status: 503, body: unavailable }],
  ["Retry-After", {
    url: "/invoices/",
    method: "POST",
    status: 409,
    body: { ...problem, status: 409, code: "idempotency_in_progress" },
  }],
  ...Object.keys(TOO_OFTEN).map((name): [string, Said] => {
    const rest = Object.entries(TOO_OFTEN).filter(([other]) => other !== name);
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

Deno.test("an answer without a header that it always has fails", async () => {
  for (const [name, said] of LACKING) {
    await assert.rejects(check(said), new RegExp(`lacks the header ${name}$`), name);
  }
});

const ALLOWED_TO_LACK = new Set([
  // On the last page.
  "2XX Link",
  // With the first answer.
  "2XX Idempotency-Replayed",
  "400 Idempotency-Replayed",
  "404 Idempotency-Replayed",
  // Where trying again would not help.
  "400 Retry-After",
]);

Deno.test("a header may be left out only where that says something", async () => {
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
  assert.deepEqual(optional, ALLOWED_TO_LACK);
});

Deno.test("what is composed of several schemas may have what any of them has, and nothing else", async () => {
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
  const said = { url: "/webhook-endpoints/", method: "POST", status: 201, headers };
  await check({ ...said, body: endpoint });
  await assert.rejects(check({ ...said, body: { ...endpoint, salt: "x" } }), /salt/);
});

Deno.test("a member of an event that is not declared fails, too", () => {
  const said = EVENTS.payment_settled.value;
  checkEvent(said);
  assert.throws(() => checkEvent({ ...said, shoe_size: 42 }), /shoe_size/);
  assert.throws(() => checkEvent({ ...said, data: { ...said.data, shoe_size: 42 } }), /shoe_size/);
});
