/**
 * A program that uses the client. A test runs it in Node, Deno and Chromium. Prints the result of
 * each step.
 */

import {
  ConnectionError,
  createPaymentGateway,
  type ErrorCode,
  type Event,
  type PaymentEvent,
  type PaymentGateway,
  PaymentGatewayError,
  verifyWebhook,
  WebhookError,
} from "payment-gateway-client";

/** Set by the test. */
const { url, sandbox, key, webhook } = JSON.parse(process.env.CONSUMER ?? "") as {
  url: string;
  sandbox: string;
  key: string;
  /** A webhook as the service sent it. */
  webhook: { secret: string; headers: Record<string, string>; body: string };
};

const gateway = createPaymentGateway({ baseUrl: `${url}/`, apiKey: () => Promise.resolve(key) });
const outcome: Record<string, unknown> = {};

// Charge, payment, settlement, and three refunds: a part, another part in a job, and the rest.
const charged = await gateway.charges.create({ payment_type: "gopay", gross_amount: 44_000 });
await pay(charged.order_id);
const paid = await gateway.payments.wait(charged.id, { timeoutMs: 30_000 });
const first = await gateway.payments.refund(paid.id, { amount: 4_000 });
const refundJob = await gateway.payments.refundAsync(paid.id, { amount: 1_000 });
const { result } = await gateway.jobs.wait(refundJob.id);
const rest = await gateway.payments.refund(paid.id);
outcome.lifecycle = [
  charged.transaction_status,
  paid.transaction_status,
  first.payment.transaction_status,
  result?.payment?.transaction_status,
  result?.refund?.amount,
  rest.payment.transaction_status,
  rest.refund.amount,
];

// Calls without a body, asynchronous calls, and a wait that times out.
const cancelled = await gateway.payments.cancel((await charge()).id);
const job = await gateway.jobs.wait((await gateway.charges.createAsync(qris())).id);
const waitError = await gateway.payments
  .wait(charged.id, { until: () => false, timeoutMs: 100 }).catch((error) => error.name);
outcome.otherCalls = [
  cancelled.transaction_status,
  job.status,
  job.result?.payment?.payment_type,
  waitError,
  (await gateway.me()).is_staff,
];

// A list over several pages.
const made: string[] = [];
for (let count = 0; count < 5; count++) made.push((await charge()).id);
let pages = 0;
const listed: string[] = [];
for await (const { items } of gateway.payments.list({ payment_type: "qris", limit: 2 }).pages()) {
  pages++;
  listed.push(...items.map(({ id }) => id));
}
const foundInList: string[] = [];
for await (const { id } of gateway.payments.list({ limit: 2 })) {
  if (made.includes(id)) foundInList.push(id);
  if (foundInList.length === made.length) break;
}
const { items, nextCursor } = await gateway.payments.list({ limit: 2 }).page();
const second = await gateway.payments.list({ limit: 2, cursor: nextCursor ?? "" }).page();
outcome.lists = [
  pages >= 3,
  new Set(listed).size === listed.length && made.every((id) => listed.includes(id)),
  foundInList.join() === made.toReversed().join(),
  second.items.length === 2 && !second.items.some(({ id }) => items[0]?.id === id),
];

// Error codes.
const codes: ErrorCode[] = [];
for (
  const failingCall of [
    () => gateway.payments.get("0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5"),
    () => gateway.payments.refund(cancelled.id),
    () => gateway.events.list().page(),
    () => createPaymentGateway({ baseUrl: url, apiKey: "gk_wrong" }).me(),
    () => gateway.events.stream({}, { lastEventId: "not an id" }).next(),
    // @ts-expect-error -- the compiler knows the payment types, too
    () => gateway.charges.create({ payment_type: "cash", gross_amount: 1 }),
  ]
) {
  const error = await thrown(failingCall);
  if (error instanceof PaymentGatewayError) codes.push(error.code);
}
outcome.codes = codes;

const invalid = await thrown(() => charge({ gross_amount: -1 }));
if (!(invalid instanceof PaymentGatewayError)) throw invalid;
// @ts-expect-error -- a code with a typo does not compile
if (invalid.code === "validation_eror") throw invalid;
outcome.invalid = [invalid.status, invalid.problem.errors?.[0]?.field, invalid.requestId !== ""];

// The caller's own request id. For invalid ids, no request is sent.
const requestId = crypto.randomUUID();
const requestIdError = await thrown(() => gateway.jobs.get(requestId, { requestId }));
const offlineClient = clientWithFetch(() => Promise.resolve(Response.json({})));
const invalidIdErrors = await Promise.all(
  ["", ".", "..", JSON.parse("[]")[0]].map((id) =>
    thrown(() => offlineClient.gateway.payments.get(id))
  ),
);
outcome.ids = [
  requestIdError instanceof PaymentGatewayError && requestIdError.requestId === requestId,
  invalidIdErrors.every((error) => error instanceof TypeError) && offlineClient.requests.length,
];

// Two calls with one key create one payment. A call without a key creates one payment even if its
// response is lost, because the client generates a key and sends it with every attempt.
const idempotencyKey = crypto.randomUUID();
const sameKeyPayments = [
  await gateway.charges.create(qris(), { idempotencyKey }),
  await gateway.charges.create(qris(), { idempotencyKey }),
];
const responseLosingClient = clientWithFetch(async (request, count) => {
  const response = await fetch(request);
  if (count > 1) return response;
  await response.body?.cancel();
  throw new TypeError("Connection reset");
});
const chargedAfterLoss = await responseLosingClient.gateway.charges.create(qris());
const busyClient = clientWithFetch((request, count) => {
  const headers = { "Retry-After": "0" };
  return count > 2 ? fetch(request) : Promise.resolve(new Response(null, { status: 429, headers }));
});
const readAfterBusy = await busyClient.gateway.payments.get(chargedAfterLoss.id);
const keys = responseLosingClient.requests.map(({ headers }) => headers.get("Idempotency-Key"));
outcome.retries = [
  sameKeyPayments[0]?.id === sameKeyPayments[1]?.id,
  keys.length === 2 && keys[0] !== null && keys[0] === keys[1],
  readAfterBusy.id === chargedAfterLoss.id && busyClient.requests.length === 3,
];

outcome.attempts = await Promise.all(
  [400, 409, 429, 500, 502, 503, 504].map(async (status) => [
    status,
    await attempts(status, ({ payments }) => payments.get(chargedAfterLoss.id)),
    await attempts(status, ({ charges }) => charges.create(qris())),
    await attempts(status, ({ reports }) => reports.reconcile("order_id,amount\n1,1\n")),
  ]),
);

// A request is not retried if a repeat is unsafe, or if the pause before it would be too long.
const unreachableClient = clientWithFetch(() =>
  Promise.reject(new TypeError("Connection refused"))
);
const retryError = await thrown(() =>
  unreachableClient.gateway.reports.reconcile("order_id,amount\n1,1\n")
);
const closedForAnHour = clientWithFetch(() => {
  const headers = { "Retry-After": "3600" };
  return Promise.resolve(new Response("Closed", { status: 503, headers }));
});
const tomorrow = new Date(Date.now() + 24 * 60 * 60 * 1000).toUTCString();
const closedUntilTomorrow = clientWithFetch(() =>
  Promise.resolve(problem(503, { "Retry-After": tomorrow }))
);
const dateError = await thrown(() => closedUntilTomorrow.gateway.me());
const hourError = await thrown(() =>
  closedForAnHour.gateway.charges.create(qris(), { idempotencyKey })
);
const abortReason = await thrown(() =>
  gateway.payments.get(charged.id, { signal: AbortSignal.abort("enough") })
);
const unresponsiveClient = clientWithFetch((request) => neverResponds(request.signal), {
  timeoutMs: 20,
  maxRetries: 1,
});
const timeoutError = await thrown(() => unresponsiveClient.gateway.me());
outcome.notRetried = [
  retryError instanceof ConnectionError && unreachableClient.requests.length,
  hourError instanceof ConnectionError && hourError.status,
  hourError instanceof ConnectionError && hourError.retryAfterSeconds,
  hourError instanceof ConnectionError && hourError.idempotencyKey === idempotencyKey,
  closedUntilTomorrow.requests.length,
  dateError instanceof PaymentGatewayError && Math.round((dateError.retryAfterSeconds ?? 0) / 3600),
  abortReason,
  timeoutError instanceof ConnectionError && unresponsiveClient.requests.length,
];

// Live events: the connection breaks after the first event, and the client resumes the stream.
const watchedPayment = await charge();
const breakingClient = clientWithFetch(async (request, count) => {
  const response = await fetch(request);
  if (count > 1) return response;
  await pay(watchedPayment.order_id);
  return new Response(response.body?.pipeThrough(breakAfterEvent()), response);
});
const streamed: Event[] = [];
const signal = AbortSignal.timeout(30_000);
// Excludes the event of the charge, which may be published before or after the stream is opened.
const watched = {
  resource_id: watchedPayment.id,
  name: ["payment_settled" as const, "payment_refunded" as const],
};
for await (const event of breakingClient.gateway.events.stream(watched, { signal })) {
  streamed.push(event);
  if (event.name === "payment_refunded") break;
  await gateway.payments.refund(watchedPayment.id);
}
outcome.streamed = [
  ...streamed.map(({ name }) => name),
  breakingClient.requests[1]?.headers.get("Last-Event-ID") === streamed[0]?.id,
];

// Simulated streams, one for each connection of the client.
const EVENT_STREAM = { headers: { "Content-Type": "text/event-stream" } };
const eventWithLineSeparator = {
  id: "1",
  name: "payment_settled",
  data: { order_id: "one\u2028two" },
};
const simulated = clientWithFetch((request, count) => {
  if (count === 3) return neverResponds(request.signal);
  const text = count === 1
    ? "retry: 10\nid: abc\n\n"
    : `data: ${JSON.stringify(eventWithLineSeparator)}\n\n`;
  return Promise.resolve(
    new Response(count === 2 ? silentAfter(": here\n\n") : text, EVENT_STREAM),
  );
}, { timeoutMs: 50 });
const streamOptions = { signal: AbortSignal.timeout(10_000), silenceMs: 50 };
const firstEvent = await firstOf(simulated.gateway.events.stream({}, streamOptions));
outcome.simulatedStreams = [
  (firstEvent as PaymentEvent).data.order_id,
  ...simulated.requests.map(({ headers }) => headers.get("Last-Event-ID")),
];

// Other line endings, and chunks that end inside a line or between \r and \n.
const [head, tail] = ['{ "id": "1",', '"name": "payment_settled" }'];
const chunks = [
  [`data: ${head}\r`, `\ndata: ${tail}\r\n\r`, "\n"],
  [`data: ${head}\r`, `data: ${tail}\r\r`],
];
outcome.lineEndings = await Promise.all(chunks.map(async (each) => {
  const stream = () => Promise.resolve(new Response(silentAfter(...each), EVENT_STREAM));
  return (await firstOf(clientWithFetch(stream).gateway.events.stream({}, { signal }))).name;
}));

// An outage: until it is over, pauses follow Retry-After or grow. A revoked key ends the stream.
const outage: (() => Response)[] = [
  () => new Response("retry: soon\n\nretry: 1000\n\nretry: later\n\n", EVENT_STREAM),
  () => problem(429, { "Retry-After": "7" }),
  () => new Response("Closed", { status: 503, headers: { "Retry-After": "3600" } }),
  ...[unreachable, unreachable, unreachable, unreachable],
  () => new Response("", EVENT_STREAM),
  () => problem(401),
  () => new Response(`data: ${JSON.stringify(eventWithLineSeparator)}\n\n`, EVENT_STREAM),
];
const outageClient = clientWithFetch((_, count) =>
  Promise.resolve().then(outage[count - 1] ?? unreachable)
);
let streamError: unknown;
const pauses = await withoutPauses(async () => {
  streamError = await thrown(() => outageClient.gateway.events.stream().next());
});
outcome.outage = [
  ...pauses.slice(0, 3),
  pauses.slice(3, 6).every((ms, at) => ms >= 4_000 * 2 ** at && ms <= 8_000 * 2 ** at),
  ...pauses.slice(6),
  streamError instanceof PaymentGatewayError && streamError.status,
];

// An abort ends a stream even if its connection ignores the signal.
const abortController = new AbortController();
const abortIgnoringClient = clientWithFetch(() => {
  const pull = (to: ReadableStreamDefaultController<Uint8Array>) => {
    abortController.abort("enough");
    to.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(eventWithLineSeparator)}\n\n`));
  };
  return Promise.resolve(new Response(new ReadableStream({ pull }), EVENT_STREAM));
});
outcome.abortedStream = await thrown(() =>
  abortIgnoringClient.gateway.events.stream({}, abortController).next()
);

// Simulated responses, as from a merchant's tests or from a proxy.
const pagedClient = clientWithFetch((_, count) => {
  const links = ['</payments/?cursor=c>; rel="prev"', '</payments/?cursor=a%2Bb>; rel="next"'];
  const headers = { Link: links.join(", ") };
  return Promise.resolve(Response.json([], count === 1 ? { headers } : {}));
});
const { nextCursor: cursorAfterFirst } = await pagedClient.gateway.payments.list().page();
const htmlClient = clientWithFetch(() => {
  const headers = { "Content-Type": "text/html" };
  return Promise.resolve(new Response("<html>Log in</html>", { headers }));
});
const htmlError = await thrown(() => htmlClient.gateway.payments.get(charged.id));
const htmlStreamError = await thrown(() => htmlClient.gateway.events.stream().next());
const emptyTextClient = clientWithFetch(() => Promise.resolve(new Response("")));
const emptyTextError = await thrown(() => emptyTextClient.gateway.payments.get(charged.id));
const noContentClient = clientWithFetch(() => Promise.resolve(new Response(null, { status: 204 })));
const deleted = await noContentClient.gateway.webhookEndpoints.delete(charged.id);
const complete = await problem(403).json();
const partial = { code: "made_up", instance: "made-up" };
const [jsonpType, problemType] = ["application/jsonp", "application/problem+json"]
  .map((type) => ({ headers: { "Content-Type": type } }));
const proxyResponses = [
  Response.json(partial, { status: 403 }),
  Response.json(complete, { status: 403 }),
  new Response(JSON.stringify(partial), { ...problemType, status: 403 }),
  Response.json(null),
  new Response("{}", jsonpType),
].map((response) => thrown(() => clientWithFetch(() => Promise.resolve(response)).gateway.me()));
outcome.proxyResponses = (await Promise.all(proxyResponses))
  .map((error) => error instanceof ConnectionError && error.status);
outcome.simulatedResponses = [
  cursorAfterFirst,
  ...[htmlError, htmlStreamError, emptyTextError].map((error) =>
    error instanceof ConnectionError && error.status
  ),
  deleted === undefined && noContentClient.requests.length,
];

// Webhooks: a genuine one, one signed with two secrets, and forged ones.
const { secret, headers, body } = webhook;
const genuine = await verifyWebhook(secret, headers, body);
const bytes = new TextEncoder().encode(body);
const signature = headers["webhook-signature"] ?? "";
const withHeaders = (changes: Record<string, string>) => ({ ...headers, ...changes });
await verifyWebhook(secret, new Headers(headers), bytes);
// Headers of another realm: not an instance of the global `Headers`.
const foreignHeaders = { get: (name: string) => headers[name] ?? null } as Headers;
await verifyWebhook(secret, foreignHeaders, body);
// Header values as arrays, as in some frameworks.
const arrayHeaders = Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]);
await verifyWebhook(secret, Object.fromEntries(arrayHeaders), body);
await verifyWebhook(
  secret,
  withHeaders({ "webhook-signature": `v2,AAAA v1,${btoa("no")} ${signature}` }),
  body,
);
await verifyWebhook(secret, await signedAgo(4 * 60), body);
const stale = await Promise.all([signedAgo(6 * 60), signedAgo(-6 * 60)]);
const forgedCalls = [
  ...stale.map((old) => () => verifyWebhook(secret, old, body)),
  () => verifyWebhook(secret, headers, body.replace("{", "{ ")),
  () => verifyWebhook(`whsec_${btoa("another secret of a good length")}`, headers, body),
  () => verifyWebhook("", headers, body),
  () => verifyWebhook(secret, {}, body),
  () => verifyWebhook(secret, withHeaders({ "webhook-id": "another" }), body),
  () => verifyWebhook(secret, withHeaders({ "webhook-timestamp": "now" }), body),
  () => verifyWebhook(secret, withHeaders({ "webhook-signature": "v1,not base64" }), body),
];
const forgeryErrors = await Promise.all(forgedCalls.map(thrown));
// A parsed body throws a TypeError, not a WebhookError: the mistake is in the receiving program.
// @ts-expect-error -- the compiler reports it too, unless the type is any
const bodyError = await thrown(() => verifyWebhook(secret, headers, JSON.parse(body) as object));
outcome.webhooks = [
  describe(genuine),
  forgeryErrors.every((error) => error instanceof WebhookError),
  bodyError instanceof TypeError && bodyError.message.includes("raw text or bytes"),
];

console.log(JSON.stringify(outcome));

/** Headers of a correctly signed webhook of the given age. */
async function signedAgo(seconds: number): Promise<Record<string, string>> {
  const timestamp = Math.floor(Date.now() / 1000 - seconds);
  const raw = Uint8Array.from(atob(secret.slice("whsec_".length)), (each) => each.charCodeAt(0));
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", raw, hmac, false, ["sign"]);
  const signed = new TextEncoder().encode(`own.${timestamp}.${body}`);
  const code = new Uint8Array(await crypto.subtle.sign("HMAC", key, signed));
  return {
    "webhook-id": "own",
    "webhook-timestamp": String(timestamp),
    "webhook-signature": `v1,${btoa(String.fromCharCode(...code))}`,
  };
}

function qris() {
  return { payment_type: "qris", gross_amount: 10_000 } as const;
}

function charge(changes: { gross_amount?: number } = {}) {
  return gateway.charges.create({ ...qris(), ...changes });
}

async function pay(orderId: string): Promise<void> {
  const payUrl = `${sandbox}/_sandbox/transactions/${orderId}/pay`;
  const { ok, body } = await fetch(payUrl, { method: "POST" });
  if (!ok) throw new Error("Transaction not found in the sandbox");
  await body?.cancel();
}

function describe(event: Event): string {
  switch (event.name) {
    case "payment_settled":
      return describePayment(event);
    case "webhook_endpoint_tested":
      return `tested: ${event.data.url}`;
    default:
      return event.name;
  }
}

function describePayment({ data }: PaymentEvent): string {
  return data.gross_amount;
}

async function thrown(call: () => Promise<unknown>): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error("Expected an error");
}

/** Leaving the loop closes the connection; an open connection would keep the process alive. */
async function firstOf(stream: AsyncIterable<Event>): Promise<Event> {
  for await (const event of stream) return event;
  throw new Error("The stream has ended");
}

/** Number of attempts of a call whose response always has this status. */
async function attempts(
  status: number,
  call: (gateway: PaymentGateway) => Promise<unknown>,
): Promise<number> {
  const headers = { "Retry-After": "0" };
  const failing = clientWithFetch(() => Promise.resolve(new Response(null, { status, headers })));
  await thrown(() => call(failing.gateway));
  return failing.requests.length;
}

/** A client whose requests are recorded and answered by `respond`. */
function clientWithFetch(
  respond: (request: Request, count: number) => Promise<Response>,
  options: { timeoutMs?: number; maxRetries?: number } = {},
) {
  const requests: Request[] = [];
  const answer: typeof fetch = (input, init) => {
    const request = new Request(input, init);
    requests.push(request);
    return respond(request, requests.length);
  };
  const client = createPaymentGateway({ baseUrl: url, apiKey: key, fetch: answer, ...options });
  return { gateway: client, requests };
}

function unreachable(): never {
  throw new TypeError("Connection refused");
}

/** An error response of the service. */
function problem(status: number, headers: Record<string, string> = {}): Response {
  const body = { title: "Made up", status, instance: "made-up", code: "made_up" };
  const type = { "Content-Type": "application/problem+json" };
  return new Response(JSON.stringify(body), { status, headers: { ...headers, ...type } });
}

/**
 * Runs a call with all pauses shortened to 0, and returns their lengths. Timers above 30 seconds
 * are timeouts and stay unchanged.
 */
async function withoutPauses(call: () => Promise<unknown>): Promise<number[]> {
  const { setTimeout } = globalThis;
  const pauses: number[] = [];
  const immediate = (then: () => void, ms: number) => {
    if (ms > 30_000) return setTimeout(then, ms);
    pauses.push(ms);
    return setTimeout(then, 0);
  };
  Object.assign(globalThis, { setTimeout: immediate });
  try {
    await call();
  } finally {
    Object.assign(globalThis, { setTimeout });
  }
  return pauses;
}

/** Never responds. Like a real connection, it keeps the process alive. */
function neverResponds(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const connection = setInterval(() => {}, 1_000);
    signal.addEventListener("abort", () => {
      clearInterval(connection);
      reject(signal.reason);
    });
  });
}

/** A connection that stays open and silent after these chunks. */
function silentAfter(...chunks: string[]): ReadableStream<Uint8Array> {
  const bytes = chunks.map((text) => new TextEncoder().encode(text));
  return new ReadableStream({ start: (to) => bytes.forEach((piece) => to.enqueue(piece)) });
}

/** Fails like a broken connection after one event. */
function breakAfterEvent(): TransformStream<Uint8Array, Uint8Array> {
  let text = "";
  return new TransformStream({
    transform(chunk, controller) {
      if (/^data:.*\n\n/m.test(text)) return controller.error(new TypeError("Connection reset"));
      text += new TextDecoder().decode(chunk);
      controller.enqueue(chunk);
    },
  });
}
