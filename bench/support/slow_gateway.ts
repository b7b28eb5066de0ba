/** A gateway that creates each charge as slowly as the real one, and stores nothing. */

import { setTimeout as delay } from "node:timers/promises";

export interface SlowGateway extends AsyncDisposable {
  url: string;
  /** How long the gateway took to answer the charge of an order; undefined: it did not answer. */
  msOf(orderId: string): number | undefined;
  /** From now on, charges are answered only when `release` is called. */
  hold(): void;
  /** How many charges are held. */
  held(): number;
  release(): void;
}

/** The real gateway's: half of its answers take at most this long, … */
const MEDIAN_MS = 250;
/** … and 99 of 100 at most this long. */
const P99_MS = 3_000;
/** One in this many charges never gets an answer. */
const UNANSWERED = 100;

/** The 99th percentile of the standard normal distribution. */
const P99_OF_NORMAL = 2.326;
const SPREAD = Math.log(P99_MS / MEDIAN_MS) / P99_OF_NORMAL;

export function startSlowGateway(): SlowGateway {
  const times = new Map<string, number>();
  const closing = Promise.withResolvers<void>();
  let count = 0;
  let held = 0;
  let released: PromiseWithResolvers<void> | null = null;

  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, respond);

  async function respond(request: Request): Promise<Response> {
    const begin = performance.now();
    if (!request.url.endsWith("/v2/charge")) {
      return Response.json({
        status_code: "404",
        status_message: "Transaction doesn't exist.",
        id: crypto.randomUUID(),
      });
    }
    const charge = await request.json();
    const { order_id: orderId, gross_amount: amount } = charge.transaction_details;
    if (released) {
      held++;
      await released.promise;
      held--;
    } else if (++count % UNANSWERED === 0) {
      await closing.promise;
      return new Response(null, { status: 504 });
    } else {
      await delay(randomMs());
    }
    times.set(orderId, performance.now() - begin);
    return Response.json(created(orderId, amount));
  }

  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    msOf: (orderId) => times.get(orderId),
    hold: () => released = Promise.withResolvers(),
    held: () => held,
    release() {
      released?.resolve();
      released = null;
    },
    async [Symbol.asyncDispose]() {
      closing.resolve();
      released?.resolve();
      await server.shutdown();
    },
  };
}

/** Times of a log-normal distribution: most are near the median, a few are far above it. */
function randomMs(): number {
  const normal = Math.sqrt(-2 * Math.log(1 - Math.random())) *
    Math.cos(2 * Math.PI * Math.random());
  return MEDIAN_MS * Math.exp(SPREAD * normal);
}

function created(orderId: string, amount: number) {
  return {
    status_code: "201",
    status_message: "Success, Bank Transfer transaction is created",
    transaction_id: crypto.randomUUID(),
    order_id: orderId,
    merchant_id: "G000000001",
    gross_amount: `${amount}.00`,
    currency: "IDR",
    payment_type: "bank_transfer",
    transaction_time: jakartaTime(0),
    transaction_status: "pending",
    fraud_status: "accept",
    va_numbers: [{ bank: "bca", va_number: "812785002530231" }],
    expiry_time: jakartaTime(24),
  };
}

function jakartaTime(hoursFromNow: number): string {
  const time = new Date(Date.now() + (7 + hoursFromNow) * 3_600_000);
  return time.toISOString().slice(0, 19).replace("T", " ");
}
