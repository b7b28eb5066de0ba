/**
 * The merchant's program: it calls the service through any instance and repeats each call with the
 * same idempotency key until it knows the outcome, as a careful client does. Records every answer.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../sandbox/engine/random.ts";
import type { Json } from "../../tests/support/gateway/sandbox.ts";
import {
  type Answer,
  asksToRetry,
  type Call,
  type CallName,
  type Outcome,
  type PaymentState,
  type RefundState,
} from "./history.ts";

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
  call(request: CallRequest): Promise<Call>;
}

interface CallRequest {
  orderId: string;
  name: CallName;
  path: string;
  body?: Json;
  amount?: number;
  /** The merchant stops after its first attempt, as if its process had crashed. */
  crashes?: boolean;
  /** The merchant sends the request once more after it knows the outcome. */
  repeats?: boolean;
}

/** Longer than the service takes at most: a paused instance answers when it continues. */
const ATTEMPT_MS = 40_000;

/** The merchant stops after this time, and the judge reports a call that then has no outcome. */
const STOP_AFTER_MS = 240_000;

const [LEAST_PAUSE_MS, MOST_PAUSE_MS] = [50, 1_000];

export function createMerchant(options: MerchantOptions): Merchant {
  const { random, onCall, onAcknowledged } = options;
  return {
    async call(request) {
      const { orderId, name, body, amount = null, crashes, repeats } = request;
      const call: Call = {
        orderId,
        name,
        key: body === undefined ? null : random.uuid(),
        amount,
        startedAt: performance.now(),
        endedAt: null,
        outcome: "unknown",
        hasCrashed: false,
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
      } while (!crashes && performance.now() - call.startedAt < STOP_AFTER_MS);
      call.hasCrashed = crashes === true && call.outcome === "unknown";
      if (repeats && call.outcome === "done") {
        call.answers.push((await attempt(options, request, call.key)).answer);
      }
      return call;
    },
  };
}

async function attempt(
  { urls, key: apiKey, random }: MerchantOptions,
  { path, body }: CallRequest,
  key: string | null,
): Promise<{ answer: Answer; outcome: Outcome }> {
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
    const json: Json = await response.json();
    const answer = readAnswer(response, json);
    return { answer, outcome: outcomeOf(answer, json) };
  } catch {
    // The instance was killed, restarts, or is paused.
    return { answer: noAnswer(), outcome: "unknown" };
  }
}

/** The outcome that an answer states. */
function outcomeOf(answer: Answer, body: Json): Outcome {
  if (answer.status >= 200 && answer.status < 300) return "done";
  return asksToRetry(answer) || body.outcome === "unknown" ? "unknown" : "refused";
}

function noAnswer(): Answer {
  return {
    at: performance.now(),
    status: 0,
    code: null,
    hasRetryAfter: false,
    payment: null,
    refund: null,
  };
}

function readAnswer({ status, headers }: Response, body: Json): Answer {
  const payment = body.payment ?? body;
  return {
    at: performance.now(),
    status,
    code: body.code ?? null,
    hasRetryAfter: headers.has("Retry-After"),
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
