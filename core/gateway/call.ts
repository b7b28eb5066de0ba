/** One operation from begin to end: its deadline, its place in line, the breaker, and tries again. */

import type { Answered } from "./fields.ts";
import type { Answer } from "./answers.ts";
import type { CircuitBreaker } from "./circuit_breaker.ts";
import { decide } from "./decide.ts";
import { GatewayAPIError, GatewayError, GatewayRateLimitError } from "./errors.ts";
import type { Limiter } from "../../concurrency/limiter.ts";
import type { Pause } from "./pause.ts";
import type { GatewayRequest } from "./request.ts";
import { type Limits, type RetryOptions, retryRead } from "./retry.ts";
import { GivenUp, type Reply, type Send } from "./transport.ts";

export interface CallDeps extends Pick<RetryOptions, "clock" | "wait" | "random"> {
  send: Send;
  breaker: CircuitBreaker;
  pause: Pause;
  inFlight: Limiter;
}

/** The deadline is for all of it: waiting for a place, every try, the last byte of the answer. */
export interface CallLimits {
  deadlineMs: number;
  /** The caller's own way to give up. */
  signal?: AbortSignal;
}

export function createCall(deps: CallDeps) {
  const { send, breaker, pause, inFlight, clock, wait } = deps;
  const mayCall = () => breaker.state() !== "open";

  return async function call<T>(
    request: GatewayRequest,
    schema: Answered<T>,
    { deadlineMs, signal }: CallLimits,
  ): Promise<Answer<T>> {
    using limits = startDeadline(deadlineMs, signal);
    const attempt = async (number: number) => {
      const reply = await tryOnce(request, limits, number);
      try {
        return decide(reply, request, schema, clock());
      } catch (error) {
        if (error instanceof GatewayRateLimitError) pause.begin(error.retryAfterSeconds);
        throw error;
      }
    };
    // A write is sent once, whatever becomes of it: whoever asked for it knows what a second would do.
    return request.isRead
      ? await retryRead(attempt, limits, { ...deps, mayCall })
      : await attempt(1);
  };

  function startDeadline(deadlineMs: number, caller?: AbortSignal): Limits & Disposable {
    const givenUp = new AbortController();
    const timer = new AbortController();
    wait(deadlineMs, timer.signal).then(() => givenUp.abort(new GivenUp("timeout")), () => {});
    const abort = () => givenUp.abort(new GivenUp("aborted"));
    if (caller?.aborted) abort();
    caller?.addEventListener("abort", abort);
    return {
      signal: givenUp.signal,
      endsAt: clock() + deadlineMs,
      [Symbol.dispose]() {
        timer.abort(CALLED_OFF);
        caller?.removeEventListener("abort", abort);
      },
    };
  }

  async function tryOnce(
    request: GatewayRequest,
    { signal, endsAt }: Limits,
    attempt: number,
  ): Promise<Reply> {
    const askedAt = clock();
    // Asked before the line, too: nobody should stand in one that leads nowhere.
    if (!mayCall()) throw takenToBeDown();
    const leave = await inFlight.acquire(signal).catch(() => {
      throw noPlace(signal);
    });
    try {
      // The place and the end of its time may have come at once.
      if (signal.aborted) throw noPlace(signal);
      const permit = breaker.admit();
      if (!permit) throw takenToBeDown();
      // A gateway that is merely busy must not be taken for one that is down.
      const hadItsTime = endsAt - clock() >= (endsAt - askedAt) / 2;
      try {
        const reply = await send(request, signal, attempt);
        permit.answered();
        return reply;
      } catch (error) {
        if (isGatewaysFault(error, hadItsTime)) permit.unanswered();
        else permit.abandoned();
        throw error;
      }
    } finally {
      leave();
    }
  }
}

/** Nobody reads it; without a reason of ours an error with a stack would be made for each call. */
const CALLED_OFF = new GivenUp("aborted");

/** A call that spent its time in line and ran out of it says nothing about the gateway. */
function isGatewaysFault(error: unknown, hadItsTime: boolean): boolean {
  if (!(error instanceof GatewayError)) return false;
  return error.failure === "timeout" ? hadItsTime : error.failure !== "aborted";
}

function takenToBeDown(): GatewayAPIError {
  return new GatewayAPIError("The gateway is taken to be down, so it was not called", {
    failure: "unreachable",
    outcome: "refused",
  });
}

function noPlace({ reason }: AbortSignal): GatewayAPIError {
  return new GatewayAPIError("The call was given up before it was its turn", {
    failure: reason instanceof GivenUp ? reason.failure : "aborted",
    outcome: "refused",
  });
}
