/** One HTTP exchange with the gateway: no retries, and no interpretation of the response. */

import { trace } from "@opentelemetry/api";
import type { Clock } from "../time/clock.ts";
import { ERROR_CODES } from "../errors.ts";
import { type FailureType, GatewayAPIError } from "./errors.ts";
import type { GatewayClock } from "./gateway_clock.ts";
import { parseObject } from "./json.ts";
import { maskText, withSecretsIn } from "./mask.ts";
import type { GatewayRequest } from "./request.ts";

export interface RawResponse {
  status: number;
  text: string;
  /** False if the body was longer than the limit, and so was not read to its end. */
  isComplete: boolean;
  retryAfter: string | null;
}

/** Request and response for a debug log: the exact text, with secrets masked. */
export interface Exchange {
  method: string;
  url: string;
  requestHeaders: Record<string, string>;
  requestText: string | null;
  /** Null without a response; `failure` then says why. With a response, `failure` is `answered`. */
  status: number | null;
  responseText: string | null;
  failure: FailureType;
  durationMs: number;
  /** Starts at 1. */
  attempt: number;
}

export interface TransportOptions {
  baseUrl: string;
  clock: Clock;
  gatewayClock: GatewayClock;
  onExchange?: (exchange: Exchange) => void;
}

/** The reason with which the signal of a call is aborted. */
export class CallAbandoned extends Error {
  override name = "CallAbandoned";
  constructor(readonly failure: "timeout" | "aborted") {
    super(failure);
  }
}

/** Far above the gateway's own responses; masking a longer body would take too long. */
const MAX_BODY_BYTES = 262_144;

export type Send = (
  request: GatewayRequest,
  signal: AbortSignal,
  attempt: number,
) => Promise<RawResponse>;

export function createTransport(options: TransportOptions): Send {
  const { baseUrl, clock, gatewayClock, onExchange } = options;

  /** A debug log that fails must not make a charge fail. */
  function callListener(exchange: () => Exchange) {
    try {
      onExchange?.(exchange());
    } catch {
      // There is no other place to report it to.
    }
  }

  return async function send(request, signal, attempt) {
    const startedAt = clock();
    const url = (request.isOnSnapHost ? snapUrl(baseUrl) : baseUrl) + request.path;
    const logExchange = (failure: FailureType, response?: RawResponse) =>
      callListener(() => ({
        method: request.method,
        url: maskText(url, request.secrets),
        requestHeaders: mapValues(request.headers, (text) => maskText(text, request.secrets)),
        requestText: request.body && maskText(request.body, request.secrets),
        status: response?.status ?? null,
        responseText: response ? maskResponse(response.text, request) : null,
        failure,
        durationMs: clock() - startedAt,
        attempt,
      }));
    let response: RawResponse;
    try {
      response = await exchange(url, request, signal, gatewayClock);
    } catch (error) {
      const reason = signal.aborted ? signal.reason : error;
      const failure = reason instanceof CallAbandoned ? reason.failure : "unreachable";
      logExchange(failure);
      throw new GatewayAPIError(MESSAGES[failure], {
        failure,
        // The gateway may have executed a write although no response arrived.
        outcome: request.isRead ? "refused" : "unknown",
        cause: signal.aborted ? undefined : withoutSecrets(error, request),
      });
    }
    logExchange("answered", response);
    return response;
  };
}

/** The gateway serves Snap on a host of its own; other addresses serve everything. */
function snapUrl(baseUrl: string): string {
  return baseUrl.replace(/^https:\/\/api\.((sandbox\.)?midtrans\.com)$/, "https://app.$1");
}

const MESSAGES = {
  unreachable: ERROR_CODES.gateway_unreachable.title,
  timeout: ERROR_CODES.gateway_timeout.title,
  aborted: "The call was aborted before the gateway responded",
};

async function exchange(
  url: string,
  { method, headers, body }: GatewayRequest,
  signal: AbortSignal,
  gatewayClock: GatewayClock,
): Promise<RawResponse> {
  const operationSpan = trace.getActiveSpan();
  const sentAt = performance.now();
  const response = await fetch(url, {
    // Deno records a span with the full URL for each fetch, and the URL can contain a card number.
    // When fetch reads the method, that span exists but has no URL yet. Ending it here prevents the
    // URL from being recorded; the span of the operation has the outcome.
    get method() {
      const fetchSpan = trace.getActiveSpan();
      if (fetchSpan !== operationSpan) fetchSpan?.end();
      return method;
    },
    headers,
    // If a connection breaks, Deno's fetch sends the request again by itself, even if the gateway
    // processed the first one (denoland/deno#35610): a charge would run twice. The body is a
    // stream, because fetch cannot send a stream again. GETs have no body; the only GETs with an
    // effect create a card token, and a second token does no harm.
    body: method === "GET" ? null : ReadableStream.from(body ? [encoder.encode(body)] : []),
    signal,
    // Following a redirect would send the server key to its target.
    redirect: "manual",
  });
  gatewayClock.observe(response.headers.get("Date"), performance.now() - sentAt);
  return {
    status: response.status,
    ...await readText(response),
    retryAfter: response.headers.get("Retry-After"),
  };
}

const encoder = new TextEncoder();

type Text = Pick<RawResponse, "text" | "isComplete">;

/** Most responses have a `Content-Length` and are read at once: a stream takes twice the time. */
async function readText(response: Response): Promise<Text> {
  const { headers } = response;
  const length = headers.get("Content-Length");
  // The length of a compressed body says nothing about the length of its text.
  const isShort = length !== null && Number(length) <= MAX_BODY_BYTES &&
    !headers.has("Content-Encoding");
  return isShort ? { text: await response.text(), isComplete: true } : await readStart(response);
}

async function readStart({ body }: Response): Promise<Text> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  // Leaving the loop early cancels the body and closes the connection.
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return { text, isComplete: false };
    text += decoder.decode(chunk, { stream: true });
  }
  return { text: text + decoder.decode(), isComplete: true };
}

/** Removes the URL from an error of `fetch`, because the URL can contain a card number. */
function withoutSecrets(error: unknown, { secrets }: GatewayRequest): Error {
  const messages: string[] = [];
  for (let each = error; each instanceof Error && messages.length < 5; each = each.cause) {
    messages.push(each.message.replace(/\bhttps?:\S+/gi, "[url]"));
  }
  return new Error(maskText(messages.join(": "), secrets));
}

/** A response may repeat the value of a secret field in another place. */
function maskResponse(text: string, { secrets }: GatewayRequest): string {
  return maskText(text, withSecretsIn(secrets, parseObject(text)));
}

function mapValues(record: Record<string, string>, change: (text: string) => string) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}
