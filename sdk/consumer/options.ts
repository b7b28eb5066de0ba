/**
 * A program that uses options of calls, request ids, lists, payment types and signed webhooks. A
 * test runs it in Node, Deno and Chromium. Prints the result of each step.
 */

import {
  ConnectionError,
  createPaymentGateway,
  type Event,
  type Payment,
  PaymentGatewayError,
  type PaymentOf,
  requestIdOf,
  signWebhook,
  verifyWebhook,
  WebhookError,
} from "payment-gateway-client";

/** Set by the test. */
const { url, key, webhook } = JSON.parse(process.env.CONSUMER ?? "") as {
  url: string;
  key: string;
  webhook: { secret: string; body: string };
};

const gateway = createPaymentGateway({ baseUrl: url, apiKey: key });
const outcome: Record<string, unknown> = {};

// The type of a charge determines the type of the payment: the compiler knows the null fields.
const transfer = await gateway.charges.create({
  payment_type: "bank_transfer",
  bank: "bca",
  gross_amount: 10_000,
});
const isTransfer: PaymentOf<"bank_transfer"> = transfer;
const noQrCode: null = transfer.qr_url;
// @ts-expect-error -- a field with a typo does not compile
const misspelt = () => gateway.charges.create({ payment_type: "qris", gros_amount: 1 });
const read: Payment = await gateway.payments.get(transfer.id);
const { payment: checked } = await gateway.payments.checkStatus(transfer.id);
outcome.types = [
  isTransfer.va_number !== null && noQrCode === null && typeof misspelt,
  instructions(read) === transfer.va_number && instructions(checked) === transfer.va_number,
];

// Request ids of results, of pages, and of errors with and without a response of the service.
const requestId = crypto.randomUUID();
const found = await gateway.payments.get(transfer.id, { requestId });
const page = await gateway.payments.list({ limit: 1 }, { requestId }).page();
const notFound = await thrown(() => gateway.jobs.get(crypto.randomUUID(), { requestId }));
const unreachable = clientWithFetch(() => Promise.reject(new TypeError("Connection refused")));
const noResponse = await thrown(() => unreachable.gateway.me({ requestId, maxRetries: 0 }));
const proxy = clientWithFetch(() =>
  Promise.resolve(new Response("Down", { status: 502, headers: { "X-Request-Id": "of-proxy" } }))
);
const badGateway = await thrown(() => proxy.gateway.me({ maxRetries: 0 }));
outcome.requestIds = [
  requestIdOf(found) === requestId && requestIdOf(page) === requestId,
  (requestIdOf(transfer) ?? "").length > 0,
  requestIdOf({ ...found }),
  notFound instanceof PaymentGatewayError && notFound.requestId === requestId,
  noResponse instanceof ConnectionError && noResponse.requestId === requestId,
  badGateway instanceof ConnectionError && badGateway.requestId,
];

// Limits of one call replace those of the client, whether they are higher or lower.
const busy = clientWithFetch(() =>
  Promise.resolve(new Response(null, { status: 503, headers: { "Retry-After": "0" } }))
);
const attempts: number[] = [];
for (const maxRetries of [0, 1, 4, undefined]) {
  const before = busy.requests.length;
  await thrown(() => busy.gateway.payments.cancel(transfer.id, { maxRetries }));
  attempts.push(busy.requests.length - before);
}
const sentBeforeList = busy.requests.length;
await thrown(() => busy.gateway.payments.list({}, { maxRetries: 1 }).page());
const silent = clientWithFetch((request) => neverResponds(request.signal));
const timeouts = await Promise.all([
  thrown(() => silent.gateway.me({ timeoutMs: 20, maxRetries: 0 })),
  thrown(() => silent.gateway.events.stream({}, { timeoutMs: 20 }).next()),
]);
const invalidLimits = [
  () => busy.gateway.me({ maxRetries: NaN }),
  () => busy.gateway.me({ maxRetries: -1 }),
  () => busy.gateway.me({ timeoutMs: 0 }),
  () => busy.gateway.me({ timeoutMs: Infinity }),
  () => Promise.resolve(createPaymentGateway({ baseUrl: url, apiKey: key, maxRetries: 0.5 })),
];
const sent = busy.requests.length;
const limitErrors = await Promise.all(invalidLimits.map(thrown));
const ownKey = crypto.randomUUID();
const aborted = await thrown(() =>
  gateway.charges.create({ payment_type: "qris", gross_amount: 10_000 }, {
    idempotencyKey: ownKey,
    signal: AbortSignal.abort("enough"),
  })
);
await thrown(() => busy.gateway.payments.expire(transfer.id, { idempotencyKey: ownKey }));
outcome.limits = [
  attempts,
  sent - sentBeforeList,
  timeouts.every((error) => error instanceof ConnectionError),
  limitErrors.every((error) => error instanceof TypeError),
  aborted,
  busy.requests.slice(sent).every(({ headers }) => headers.get("Idempotency-Key") === ownKey),
];

// The first items of a list, over several pages, without fetching more pages than needed.
for (let count = 0; count < 4; count++) {
  await gateway.charges.create({ payment_type: "qris", gross_amount: 10_000 });
}
const counting = clientWithFetch((request) => fetch(request));
const list = counting.gateway.payments.list({ limit: 2 });
const firstThree = await list.toArray(3);
const pagesOfThree = counting.requests.length;
const expected = (await gateway.payments.list({ limit: 3 }).page()).items;
const own = gateway.payments.list({ order_id: transfer.order_id });
const listLimitErrors = await Promise.all(
  [-1, 1.5, NaN].map((limit) => thrown(() => list.toArray(limit))),
);
outcome.toArray = [
  firstThree.length === 3 && firstThree.every(({ id }, at) => id === expected[at]?.id),
  pagesOfThree,
  (await own.toArray(100)).map(({ id }) => id).join() === transfer.id,
  (await list.toArray(0)).length,
  listLimitErrors.every((error) => error instanceof TypeError),
  counting.requests.length - pagesOfThree,
];

// An empty key is reported before a request is sent.
const emptyKeys = await Promise.all([
  ...["", " ", JSON.parse("[]")[0]].map((apiKey) =>
    thrown(() => Promise.resolve(createPaymentGateway({ baseUrl: url, apiKey })))
  ),
  thrown(() => createPaymentGateway({ baseUrl: url, apiKey: () => "" }).me()),
]);
outcome.emptyKeys = emptyKeys.map((error) =>
  error instanceof TypeError && error.message.startsWith("apiKey is empty")
);

// A webhook signed by `signWebhook` is accepted by `verifyWebhook`, unless it is old or changed.
const event = JSON.parse(webhook.body) as Event;
const signed = await signWebhook(webhook.secret, event);
const verified = await verifyWebhook(webhook.secret, signed.headers, signed.body);
const old = await signWebhook(webhook.secret, event, { signedAt: new Date(Date.now() - 360_000) });
const refused = await Promise.all([
  thrown(() => verifyWebhook(webhook.secret, old.headers, old.body)),
  thrown(() => verifyWebhook(webhook.secret, signed.headers, `${signed.body} `)),
  thrown(() => signWebhook("", event)),
]);
outcome.signed = [
  JSON.stringify(verified) === JSON.stringify(event) && signed.headers["webhook-id"] === event.id,
  refused.every((error) => error instanceof WebhookError),
];

console.log(JSON.stringify(outcome));

function instructions(payment: Payment): string | null {
  // @ts-expect-error -- a payment type with a typo does not compile
  if (payment.payment_type === "banktransfer") return null;
  switch (payment.payment_type) {
    case "bank_transfer":
      return payment.va_number;
    case "gopay": {
      const noAccount: null = payment.va_number;
      return payment.deeplink_url ?? noAccount;
    }
    default:
      return payment.redirect_url;
  }
}

async function thrown(call: () => Promise<unknown>): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error("Expected an error");
}

/** A client whose requests are recorded and answered by `respond`. */
function clientWithFetch(respond: (request: Request) => Promise<Response>) {
  const requests: Request[] = [];
  const answer: typeof fetch = (input, init) => {
    const request = new Request(input, init);
    requests.push(request);
    return respond(request);
  };
  return { gateway: createPaymentGateway({ baseUrl: url, apiKey: key, fetch: answer }), requests };
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
