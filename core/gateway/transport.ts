/** One HTTP exchange with the gateway, and nothing else: no second try, no opinion on the answer. */

import { trace } from "@opentelemetry/api";
import type { Clock } from "../clock.ts";
import { ERROR_CODES } from "../errors.ts";
import { type Failure, GatewayAPIError } from "./errors.ts";
import { parseObject } from "./json.ts";
import { maskText, withSecretsIn } from "./mask.ts";
import type { GatewayRequest } from "./request.ts";

export interface Reply {
  status: number;
  text: string;
  /** False for a body that was longer than anybody reads. */
  isWhole: boolean;
  retryAfter: string | null;
}

/** What was said, for a debug log: the exact text, but for the secrets, which are masked. */
export interface Exchange {
  method: string;
  url: string;
  requestHeaders: Record<string, string>;
  requestText: string | null;
  /** Null where there was no answer; `failure` then says why. */
  status: number | null;
  responseText: string | null;
  failure: Failure;
  durationMs: number;
  /** 1 for the first try. */
  attempt: number;
}

export interface TransportOptions {
  baseUrl: string;
  clock: Clock;
  onExchange?: (exchange: Exchange) => void;
}

/** Why a call was given up: the reason that signals are aborted with. */
export class GivenUp extends Error {
  override name = "GivenUp";
  constructor(readonly failure: "timeout" | "aborted") {
    super(failure);
  }
}

/** No answer of the gateway's comes near this; what is longer would cost dearly to mask. */
const MAX_BODY_BYTES = 262_144;

export type Send = (
  request: GatewayRequest,
  signal: AbortSignal,
  attempt: number,
) => Promise<Reply>;

export function createTransport({ baseUrl, clock, onExchange }: TransportOptions): Send {
  /** A debug log that fails must not cost a charge its answer. */
  function tell(exchange: () => Exchange) {
    try {
      onExchange?.(exchange());
    } catch {
      // There is nobody left to tell.
    }
  }

  return async function send(request, signal, attempt) {
    const startedAt = clock();
    const report = (failure: Failure, reply?: Reply) =>
      tell(() => ({
        method: request.method,
        url: maskText(baseUrl + request.path, request.secrets),
        requestHeaders: mapValues(request.headers, (text) => maskText(text, request.secrets)),
        requestText: request.body && maskText(request.body, request.secrets),
        status: reply?.status ?? null,
        responseText: reply ? maskAnswer(reply.text, request) : null,
        failure,
        durationMs: clock() - startedAt,
        attempt,
      }));
    let reply: Reply;
    try {
      reply = await exchange(baseUrl + request.path, request, signal);
    } catch (error) {
      const reason = signal.aborted ? signal.reason : error;
      const failure = reason instanceof GivenUp ? reason.failure : "unreachable";
      report(failure);
      throw new GatewayAPIError(MESSAGES[failure], {
        failure,
        // It may have arrived all the same.
        outcome: request.isRead ? "refused" : "unknown",
        cause: signal.aborted ? undefined : withoutSecrets(error, request),
      });
    }
    report("answered", reply);
    return reply;
  };
}

const MESSAGES = {
  unreachable: ERROR_CODES.gateway_unreachable.title,
  timeout: ERROR_CODES.gateway_timeout.title,
  aborted: "The call was given up before the gateway answered",
};

async function exchange(
  url: string,
  { method, headers, body }: GatewayRequest,
  signal: AbortSignal,
): Promise<Reply> {
  const ours = trace.getActiveSpan();
  const response = await fetch(url, {
    // Deno tells of each fetch in a span of its own, with the whole URL, which may hold a card. That
    // span has begun by the time fetch reads what to send, and has not heard of the URL yet: it ends
    // here, and nothing is added to a span that has ended. Ours says what there is to say.
    get method() {
      const denos = trace.getActiveSpan();
      if (denos !== ours) denos?.end();
      return method;
    },
    headers,
    // When a connection breaks, Deno's fetch sends the request a second time by itself, whatever the
    // gateway made of the first (denoland/deno#35610): a charge, twice. Streams it cannot repeat.
    // GETs have no body to stream; those that create something create a card token, and two are as
    // good as one.
    body: method === "GET" ? null : ReadableStream.from(body ? [encoder.encode(body)] : []),
    signal,
    // Followed, a redirect would take the key along to wherever it points.
    redirect: "manual",
  });
  return {
    status: response.status,
    ...await readText(response),
    retryAfter: response.headers.get("Retry-After"),
  };
}

const encoder = new TextEncoder();

async function readText({ body }: Response): Promise<{ text: string; isWhole: boolean }> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  // Leaving the loop early cancels the rest, and with it the connection.
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return { text, isWhole: false };
    text += decoder.decode(chunk, { stream: true });
  }
  return { text: text + decoder.decode(), isWhole: true };
}

/** The errors of `fetch` name the URL, and that may hold a card: their words are kept without it. */
function withoutSecrets(error: unknown, { secrets }: GatewayRequest): Error {
  const words: string[] = [];
  for (let each = error; each instanceof Error && words.length < 5; each = each.cause) {
    words.push(each.message.replace(/\bhttps?:\S+/gi, "[url]"));
  }
  return new Error(maskText(words.join(": "), secrets));
}

/** What an answer has for a secret in one place it may repeat in another. */
function maskAnswer(text: string, { secrets }: GatewayRequest): string {
  return maskText(text, withSecretsIn(secrets, parseObject(text)));
}

function mapValues(record: Record<string, string>, change: (text: string) => string) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}
