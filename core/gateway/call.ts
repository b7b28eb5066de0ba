/** One gateway call from start to end: deadline, concurrency limit, circuit breaker and retries. */

import type { Limiter } from "../../concurrency/limiter.ts";
import type { CircuitBreaker, CircuitBreakers, Permit } from "./circuit_breaker.ts";
import { GatewayAPIError, GatewayError, GatewayRateLimitError } from "./errors.ts";
import { interpretResponse } from "./interpret_response.ts";
import type { ResponseSchema } from "./json.ts";
import type { RateLimitPause } from "./rate_limit.ts";
import type { GatewayRequest } from "./request.ts";
import type { GatewayResponse } from "./responses.ts";
import { type Deadline, type RetryOptions, retryRead } from "./retry.ts";
import { CallAbandoned, type RawResponse, type Send } from "./transport.ts";

/** What the calls of a client share. */
export interface CallResources extends Pick<RetryOptions, "clock" | "wait" | "random"> {
  send: Send;
  breakers: CircuitBreakers;
  pause: RateLimitPause;
  limiter: Limiter;
  /** If a call has a shorter deadline, its timeout does not count as a failure of the gateway. */
  normalDeadlineMs: number;
}

export interface CallLimits {
  /** Covers everything: waiting for a slot, all attempts, and reading the response. */
  deadlineMs: number;
  /** Lets the caller abort the call. */
  signal?: AbortSignal;
  /** The breaker's permit for this write, if the caller already has it. */
  permit?: Permit | null;
}

export async function call<T>(
  resources: CallResources,
  request: GatewayRequest,
  schema: ResponseSchema<T>,
  { deadlineMs, signal, permit }: CallLimits,
): Promise<GatewayResponse<T>> {
  const { pause, clock } = resources;
  using deadline = startDeadline(resources, deadlineMs, signal);
  const canCall = () => breakerOf(resources, request).state() !== "open";
  const attempt = async (number: number) => {
    const response = await tryOnce(resources, request, deadline, number, permit ?? null);
    try {
      return interpretResponse(response, request, schema, clock());
    } catch (error) {
      if (error instanceof GatewayRateLimitError) pause.start(error.retryAfterSeconds);
      throw error;
    }
  };
  try {
    // A write is never retried here: only the caller knows whether a second write is safe.
    return request.isRead
      ? await retryRead(attempt, deadline, { ...resources, canCall })
      : await attempt(1);
  } catch (error) {
    // Callers and background work wait for the same time.
    if (error instanceof GatewayRateLimitError) {
      error.retryAfterSeconds = Math.ceil(pause.remainingMs() / 1_000);
    }
    throw error;
  }
}

function breakerOf({ breakers }: CallResources, { isRead }: GatewayRequest): CircuitBreaker {
  return breakers[isRead ? "read" : "write"];
}

function startDeadline(
  { clock, wait }: CallResources,
  deadlineMs: number,
  caller?: AbortSignal,
): Deadline & Disposable {
  const startedAt = clock();
  const abandon = new AbortController();
  const timer = new AbortController();
  wait(deadlineMs, timer.signal).then(
    () => abandon.abort(new CallAbandoned("timeout")),
    () => {},
  );
  const abort = () => abandon.abort(new CallAbandoned("aborted"));
  if (caller?.aborted) abort();
  caller?.addEventListener("abort", abort);
  return {
    signal: abandon.signal,
    startedAt,
    endsAt: startedAt + deadlineMs,
    [Symbol.dispose]() {
      timer.abort(TIMER_CANCELLED);
      caller?.removeEventListener("abort", abort);
    },
  };
}

async function tryOnce(
  resources: CallResources,
  request: GatewayRequest,
  { signal, startedAt, endsAt }: Deadline,
  attempt: number,
  earlierPermit: Permit | null,
): Promise<RawResponse> {
  const { send, limiter, clock, normalDeadlineMs } = resources;
  const breaker = breakerOf(resources, request);
  // Checked before waiting for a slot, too: while the breaker is open, waiting is useless.
  if (!earlierPermit && breaker.state() === "open") throw breakerOpenError();
  const release = await limiter.acquire(signal).catch(() => {
    throw noSlotError(signal);
  });
  try {
    // The deadline may have passed at the moment the slot was granted.
    if (signal.aborted) throw noSlotError(signal);
    const permit = earlierPermit ?? breaker.admit();
    if (!permit) throw breakerOpenError();
    // A timeout is not a failure of the gateway if the deadline is shorter than normal, or if
    // most of the time was spent on earlier attempts or on waiting for a slot.
    const hadEnoughTime = endsAt - startedAt >= normalDeadlineMs &&
      endsAt - clock() >= (endsAt - startedAt) / 2;
    try {
      const response = await send(request, signal, attempt);
      permit.responded();
      return response;
    } catch (error) {
      if (isGatewayFailure(error, hadEnoughTime)) permit.failed();
      else permit.abandoned();
      throw error;
    }
  } finally {
    release();
  }
}

/** The reason to abort a timer. Without one, each `abort()` would create an error with a stack. */
const TIMER_CANCELLED = new CallAbandoned("aborted");

function isGatewayFailure(error: unknown, hadEnoughTime: boolean): boolean {
  if (!(error instanceof GatewayError)) return false;
  return error.failure === "timeout" ? hadEnoughTime : error.failure !== "aborted";
}

function breakerOpenError(): GatewayAPIError {
  return new GatewayAPIError("The gateway is not responding, so this request was not sent", {
    failure: "unreachable",
    outcome: "refused",
  });
}

function noSlotError({ reason }: AbortSignal): GatewayAPIError {
  return new GatewayAPIError("The call timed out or was aborted before the request was sent", {
    failure: reason instanceof CallAbandoned ? reason.failure : "aborted",
    outcome: "refused",
  });
}
