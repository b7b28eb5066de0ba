/**
 * The merchant's program: it calls the service through any instance and repeats each call with the
 * same idempotency key until it knows the outcome, as a careful client does. Records every answer.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../sandbox/engine/random.ts";
import type { Json } from "../../tests/support/gateway/sandbox.ts";
import type { Answer, Call, CallName, PaymentState, RefundState } from "./history.ts";

export interface MerchantOptions {
  /** The URLs of the instances. */
  urls: readonly string[];
  key: string;
  random: Random;
  /** Gets each call before its first attempt. */
  onCall(call: Call): void;
  /** Called when a call that writes is acknowledged. */
  onAcknowledged(call: Call): void;
}

export interface Merchant {
  /** `body`: undefined for a read. `path` has no instance. */
  call(request: Request): Promise<Call>;
}

interface Request {
  orderId: string;
  name: CallName;
  path: string;
  body?: Json;
  amount?: number;
  /** The merchant stops repeating after its first attempt, as if its process had crashed. */
  givesUp?: boolean;
  /** The merchant sends the request once more after it knows the outcome. */
  repeats?: boolean;
}

/** Longer than the service takes at most: a paused instance answers when it continues. */
const ATTEMPT_MS = 40_000;

/** The judge reports a call that has no outcome after this time. */
const GIVE_UP_MS = 240_000;

const [LEAST_PAUSE_MS, MOST_PAUSE_MS] = [50, 1_000];

export function createMerchant(options: MerchantOptions): Merchant {
  const { random, onCall, onAcknowledged } = options;
  return {
    async call(request) {
      const { orderId, name, body, amount = null, givesUp, repeats } = request;
      const call: Call = {
        orderId,
        name,
        key: body === undefined ? null : random.uuid(),
        amount,
        startedAt: performance.now(),
        endedAt: null,
        outcome: "unknown",
        isGivenUp: false,
        answers: [],
      };
      onCall(call);
      let pauseMs = LEAST_PAUSE_MS;
      do {
        const { answer, outcome } = await attempt(options, request, call.key);
        call.answers.push(answer);
        if (outcome !== "unknown") {
          Object.assign(call, { outcome, endedAt: answer.at });
          if (outcome === "done" && call.key) onAcknowledged(call);
          break;
        }
        await delay(pauseMs + random.below(pauseMs));
        pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS);
      } while (!givesUp && performance.now() - call.startedAt < GIVE_UP_MS);
      call.isGivenUp = givesUp === true && call.outcome === "unknown";
      if (repeats && call.outcome === "done") {
        call.answers.push((await attempt(options, request, call.key)).answer);
      }
      return call;
    },
  };
}

async function attempt(
  { urls, key: apiKey, random }: MerchantOptions,
  { path, body }: Request,
  key: string | null,
): Promise<{ answer: Answer; outcome: Call["outcome"] }> {
  const url = urls[random.below(urls.length)]! + path;
  try {
    const response = await fetch(url, {
      method: key ? "POST" : "GET",
      headers: {
        Authorization: `Bearer ${apiKey}`,
        ...key && { "Content-Type": "application/json", "Idempotency-Key": key },
      },
      body: key ? JSON.stringify(body) : undefined,
      signal: AbortSignal.timeout(ATTEMPT_MS),
    });
    const { status } = response;
    const json: Json = await response.json();
    return { answer: readAnswer(status, json), outcome: outcomeOf(status, json, response.headers) };
  } catch {
    // The instance was killed, restarts, or is paused.
    const answer = { at: performance.now(), status: 0, code: null, payment: null, refund: null };
    return { answer, outcome: "unknown" };
  }
}

/**
 * The outcome that an answer states. 409, 429 and 5xx, and a refusal with `Retry-After`, ask the
 * caller to repeat the call.
 */
function outcomeOf(status: number, body: Json, headers: Headers): Call["outcome"] {
  if (status >= 200 && status < 300) return "done";
  const asksToRetry = status === 409 || status === 429 || status >= 500 ||
    headers.has("Retry-After");
  return asksToRetry || body.outcome === "unknown" ? "unknown" : "refused";
}

function readAnswer(status: number, body: Json): Answer {
  const payment = body.payment ?? body;
  return {
    at: performance.now(),
    status,
    code: body.code ?? null,
    payment: payment.transaction_status && payment.gross_amount ? readPayment(payment) : null,
    refund: body.refund ? readRefund(body.refund) : null,
  };
}

export function readPayment(payment: Json): PaymentState {
  return {
    id: payment.id,
    orderId: payment.order_id,
    transactionId: payment.transaction_id,
    status: payment.transaction_status,
    grossAmount: Number(payment.gross_amount),
    capturedAmount: payment.captured_amount === null ? null : Number(payment.captured_amount),
    refundedAmount: Number(payment.refund_amount),
  };
}

export function readRefund({ id, refund_key, amount, status }: Json): RefundState {
  return { id, key: refund_key, amount: Number(amount), status };
}
