/** Events: a list for staff and viewers, and a live stream for every caller. */

import type { Client } from "#api/client";
import { listEvents } from "#api/sdk";
import type { Event, ListEventsData, StreamEventsData } from "#api/types";
import { type CallOptions, toRequestOptions } from "./call.ts";
import { ConnectionError, PaymentGatewayError } from "./errors.ts";
import { readEventStream } from "./event_stream.ts";
import { type ListQuery, Pager } from "./pager.ts";
import { backoffMs, MAX_PAUSE_MS, withResponseTimeout } from "./retry.ts";
import { pause } from "./wait.ts";

export interface StreamOptions extends Omit<CallOptions, "maxRetries"> {
  /** Timeout until the stream starts. Default: that of the client. */
  timeoutMs?: number;
  /** Resumes after this event. */
  lastEventId?: string;
  /** Reconnects if nothing arrives for this time. Default: 60 seconds. */
  silenceMs?: number;
}

/** With this type, the path compiles only if it is in the OpenAPI document. */
const STREAM_URL: StreamEventsData["url"] = "/events/stream/";

/** The pause before a reconnect, until the stream sends another value (`retry`). */
const FIRST_PAUSE_MS = 1_000;

/** The service sends at least a comment every 15 seconds. */
const MAX_SILENCE_MS = 60_000;

export class Events {
  readonly #client: Client;
  readonly #send: typeof fetch;
  readonly #timeoutMs: number;

  constructor(client: Client, send: typeof fetch, timeoutMs: number) {
    this.#client = client;
    this.#send = send;
    this.#timeoutMs = timeoutMs;
  }

  /** All events, newest first unless `order` says otherwise. Staff and viewers only. */
  list(query: ListQuery<ListEventsData["query"]> = {}, options?: CallOptions): Pager<Event> {
    const { cursor: first, ...filter } = query as NonNullable<ListEventsData["query"]>;
    return new Pager((cursor = first) =>
      listEvents({
        client: this.#client,
        query: { ...filter, cursor },
        ...toRequestOptions(options),
      })
    );
  }

  /**
   * Streams events of your payments, invoices and subscriptions (for staff and viewers, those of
   * all users and of webhook endpoints) until you leave the loop. Reconnects after a disconnect and
   * resumes without gaps. Throws if the signal aborts, if the first connection fails, or if the
   * service rejects the request, for example because the key was revoked.
   */
  async *stream(
    query: StreamEventsData["query"] = {},
    options: StreamOptions = {},
  ): AsyncGenerator<Event, void, undefined> {
    const { silenceMs = MAX_SILENCE_MS } = options;
    let { lastEventId } = options;
    let pauseMs = FIRST_PAUSE_MS;
    let wasConnected = false;
    // `attempts`: connection attempts since the last successful one.
    for (let attempts = 1;; attempts++) {
      let failure: unknown;
      try {
        const body = await this.#connect(query, { ...options, lastEventId });
        wasConnected = true;
        attempts = 0;
        for await (const message of readEventStream(body, silenceMs, options.signal)) {
          pauseMs = message.retryMs ?? pauseMs;
          if (message.data !== undefined) yield JSON.parse(message.data) as Event;
          // The first message of a stream has only an id, which is its position.
          lastEventId = message.id ?? lastEventId;
        }
      } catch (error) {
        // If the first connection fails, the URL may be wrong. Later failures are retried.
        if (!wasConnected || options.signal?.aborted || !isTemporary(error)) throw error;
        failure = error;
      }
      await pause(reconnectPauseMs(pauseMs, attempts, failure), options.signal);
    }
  }

  async #connect(query: StreamEventsData["query"], { lastEventId, ...options }: StreamOptions) {
    const { headers, ...call } = toRequestOptions(options);
    const { data } = await this.#client.get<{ 200: ReadableStream<Uint8Array> }, unknown, true>({
      ...call,
      url: STREAM_URL,
      security: [{ scheme: "bearer", type: "http" }],
      query,
      headers: { ...headers, ...(lastEventId && { "Last-Event-ID": lastEventId }) },
      parseAs: "stream",
      // The default fetch of the client would end the stream at its timeout.
      fetch: withResponseTimeout(options.timeoutMs ?? this.#timeoutMs, this.#send),
    });
    return data;
  }
}

function isTemporary(error: unknown): boolean {
  if (error instanceof PaymentGatewayError) return error.status === 429 || error.status >= 500;
  return !(error instanceof SyntaxError);
}

/**
 * The pause that the stream asks for. While connecting fails, the longer one of exponential backoff
 * and the error's `Retry-After`, but at most 30 seconds unless the stream asks for more.
 */
function reconnectPauseMs(streamMs: number, failures: number, error: unknown): number {
  if (failures === 0) return streamMs;
  // At least 1 ms, because the backoff of a pause of 0 would always be 0.
  const growingMs = Math.max(backoffMs(failures, Math.max(streamMs, 1)), requestedMs(error));
  return Math.max(streamMs, Math.min(growingMs, MAX_PAUSE_MS));
}

function requestedMs(error: unknown): number {
  const hasResponse = error instanceof PaymentGatewayError || error instanceof ConnectionError;
  return hasResponse ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
}
