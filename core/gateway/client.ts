/** The gateway client: every operation of the gateway's API, with one set of keys and limits. */

import { sleep } from "../../concurrency/deadlines.ts";
import { createLimiter } from "../../concurrency/limiter.ts";
import { type Clock, systemClock } from "../time/clock.ts";
import { type AccountGuard, NO_ACCOUNT_GUARD, otherAccountError } from "./account.ts";
import { call, type CallResources } from "./call.ts";
import {
  type CallType,
  type CircuitBreakers,
  createCircuitBreakers,
  worstState,
} from "./circuit_breaker.ts";
import { createGatewayClock, type GatewayClock } from "./gateway_clock.ts";
import { withSpans } from "./instrumentation.ts";
import {
  accountOperations,
  type CallGateway,
  cardOperations,
  invoiceOperations,
  payAccountOperations,
  paymentOperations,
  snapOperations,
  subscriptionOperations,
} from "./operations.ts";
import { createRateLimitPause, type RateLimitPause } from "./rate_limit.ts";
import { buildRequest, createCredentials, type Credentials } from "./request.ts";
import type { Wait } from "./retry.ts";
import { verifySignature } from "./signature.ts";
import { createTransport, type Exchange } from "./transport.ts";

export interface GatewayClientOptions {
  /** Without a trailing slash. */
  baseUrl: string;
  serverKey: string;
  /** If null, operations that need a client key take it as an argument. */
  clientKey: string | null;
  /** Pass the same object to all clients of one gateway. */
  breakers?: CircuitBreakers;
  /** Pass the same object to all clients of one gateway. */
  pause?: RateLimitPause;
  /** Pass the same object to all clients of one gateway. */
  gatewayClock?: GatewayClock;
  /** Refuses calls if the server key belongs to another account than the database. */
  account?: AccountGuard;
  maxInFlight?: number;
  /** Called for every HTTP exchange, with secrets masked. */
  onExchange?: (exchange: Exchange) => void;
  clock?: Clock;
  wait?: Wait;
  random?: () => number;
}

export type GatewayClient = ReturnType<typeof createGatewayClient>;

/** For one operation with all its retries. */
export const DEFAULT_DEADLINE_MS = 10_000;

/**
 * Short, because the start of the service waits for the verification. If the gateway was down then,
 * the first write waits for the verification instead.
 */
const VERIFY_DEADLINE_MS = 3_000;

export function createGatewayClient(options: GatewayClientOptions) {
  const { baseUrl, serverKey, clock = systemClock, wait = sleep, random = Math.random } = options;
  if (!/^[\x21-\x7e]+$/.test(serverKey)) {
    throw new TypeError("The gateway client needs a server key without spaces");
  }
  const credentials = createCredentials(serverKey);
  const breakers = options.breakers ?? createCircuitBreakers({ clock });
  const pause = options.pause ?? createRateLimitPause(clock);
  const limiter = createLimiter(options.maxInFlight ?? 50);
  const account = options.account ?? NO_ACCOUNT_GUARD;
  const gatewayClock = options.gatewayClock ?? createGatewayClock();
  const send = createTransport({ baseUrl, clock, gatewayClock, onExchange: options.onExchange });
  const normalDeadlineMs = DEFAULT_DEADLINE_MS;
  const resources = { send, breakers, pause, limiter, clock, wait, random, normalDeadlineMs };
  const verifyAccount = () =>
    account.verify((id) => payments.getStatus(id, { deadlineMs: VERIFY_DEADLINE_MS }));
  const callGateway = createCallGateway(resources, credentials, account, verifyAccount);
  const payments = paymentOperations(callGateway);

  return {
    ...withSpans({
      ...payments,
      ...cardOperations(callGateway, options.clientKey),
      ...accountOperations(callGateway),
      ...snapOperations(callGateway),
      ...payAccountOperations(callGateway),
      ...subscriptionOperations(callGateway),
      ...invoiceOperations(callGateway),
    }),

    /**
     * Checks a notification's signature, with the configured server key unless another is given.
     */
    verifySignature: (
      orderId: unknown,
      statusCode: unknown,
      grossAmount: unknown,
      signatureKey: unknown,
      key: string | null = null,
    ) => verifySignature(orderId, statusCode, grossAmount, signatureKey, key ?? serverKey),

    /** Without a type: the worse of the two states. */
    breakerState: (type?: CallType) => type ? breakers[type].state() : worstState(breakers),

    /** The permit to probe, if the breaker for writes is half open and no other call probes. */
    takeProbe: () => breakers.write.state() === "half_open" ? breakers.write.admit() : null,

    /** How long background work should pause after a 429. Callers' requests are still sent. */
    rateLimitPauseMs: () => pause.remainingMs(),

    /** Whether server key and database belong to the same account, as far as this is known. */
    accountState: () => account.state(),

    /** Like `accountState`, but asks the gateway if the state is not known yet. */
    verifyAccount,

    /** Without a slash at the end. */
    baseUrl,

    /** The gateway's time now, computed from its last response; null: no response had a date. */
    time: () => gatewayClock.now(),
  };
}

/** Calls the gateway only if the server key and the database belong to the same account. */
function createCallGateway(
  resources: CallResources,
  credentials: Credentials,
  account: AccountGuard,
  verifyAccount: () => Promise<unknown>,
): CallGateway {
  return async (schema, spec, options = {}) => {
    const { idempotencyKey, deadlineMs = DEFAULT_DEADLINE_MS, signal, permit } = options;
    const request = buildRequest(spec, credentials, idempotencyKey);
    // A write in another account could not be undone.
    if (!request.isRead && account.state() === "unverified") await verifyAccount();
    if (account.state() === "other") throw otherAccountError("refused");
    const response = await call(resources, request, schema, { deadlineMs, signal, permit });
    const { merchant_id } = response.raw;
    if (typeof merchant_id === "string" && merchant_id) await account.observe(merchant_id);
    if (account.state() === "other") throw otherAccountError("unknown");
    return response;
  };
}
