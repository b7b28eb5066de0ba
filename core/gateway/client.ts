/** The gateway's client: everything that can be asked of it, by one set of keys and limits. */

import { type Clock, systemClock } from "../clock.ts";
import type { Ask } from "./ask.ts";
import { sleep } from "../../concurrency/deadlines.ts";
import { createCall } from "./call.ts";
import { type CircuitBreaker, createCircuitBreaker } from "./circuit_breaker.ts";
import { createLimiter } from "../../concurrency/limiter.ts";
import { cardOperations } from "./operations/cards.ts";
import { invoiceOperations } from "./operations/invoices.ts";
import { payAccountOperations } from "./operations/pay_accounts.ts";
import { paymentOperations } from "./operations/payments.ts";
import { subscriptionOperations } from "./operations/subscriptions.ts";
import { createPause, type Pause } from "./pause.ts";
import { buildRequest, credentialsOf } from "./request.ts";
import type { Wait } from "./retry.ts";
import { verifySignature } from "./signature.ts";
import { withSpans } from "./spans.ts";
import { createTransport, type Exchange } from "./transport.ts";

export interface GatewayClientOptions {
  /** Without a slash at its end. */
  baseUrl: string;
  serverKey: string;
  /** Null: operations that need one ask for it. */
  clientKey: string | null;
  /** To be shared by clients of the same gateway. */
  breaker?: CircuitBreaker;
  /** Likewise. */
  pause?: Pause;
  maxInFlight?: number;
  /** Told every exchange, secrets masked. */
  onExchange?: (exchange: Exchange) => void;
  clock?: Clock;
  wait?: Wait;
  random?: () => number;
}

export type GatewayClient = ReturnType<typeof createGatewayClient>;

/** Of one operation, all tries together. */
const DEADLINE_MS = 10_000;

export function createGatewayClient(options: GatewayClientOptions) {
  const { baseUrl, serverKey, clock = systemClock, wait = sleep, random = Math.random } = options;
  if (!/^[\x21-\x7e]+$/.test(serverKey)) throw new TypeError("The gateway needs a server key");
  const credentials = credentialsOf(serverKey);
  const breaker = options.breaker ?? createCircuitBreaker({ clock });
  const pause = options.pause ?? createPause(clock);
  const inFlight = createLimiter(options.maxInFlight ?? 50);
  const send = createTransport({ baseUrl, clock, onExchange: options.onExchange });
  const call = createCall({ send, breaker, pause, inFlight, clock, wait, random });

  const ask: Ask = async (schema, draft, options = {}) => {
    const { idempotencyKey, deadlineMs = DEADLINE_MS, signal } = options;
    const request = buildRequest(draft, credentials, idempotencyKey);
    return await call(request, schema, { deadlineMs, signal });
  };

  return {
    ...withSpans({
      ...paymentOperations(ask),
      ...cardOperations(ask, options.clientKey),
      ...payAccountOperations(ask),
      ...subscriptionOperations(ask),
      ...invoiceOperations(ask),
    }),

    /** Whether a notification's signature holds, by the configured key unless another is given. */
    verifySignature: (
      orderId: unknown,
      statusCode: unknown,
      grossAmount: unknown,
      signatureKey: unknown,
      key = serverKey,
    ) => verifySignature(orderId, statusCode, grossAmount, signatureKey, key),

    /** Whether the gateway is being called. */
    breakerState: () => breaker.state(),

    /** For how long the gateway asked to be left alone; callers ask all the same. */
    pauseMs: () => pause.leftMs(),
  };
}
