/** Events: every change, as a list for staff, and live for everybody. */

import type { Client } from "#api/client";
import { listEvents } from "#api/sdk";
import type { Event, ListEventsData, StreamEventsData } from "#api/types";
import { type CallOptions, plain } from "./call.ts";
import { PaymentGatewayError } from "./errors.ts";
import { Pager } from "./pager.ts";
import { pause } from "./pause.ts";
import { readEventStream } from "./read_event_stream.ts";
import { reconnectPauseMs } from "./reconnect_pause.ts";

export interface StreamOptions extends CallOptions {
  /** Goes on after this event, as if the connection had only just broken. */
  lastEventId?: string;
  /** After how long without a word a connection is taken for broken; 60 seconds unless given. */
  silenceMs?: number;
}

/** By its type it is the document's. */
const STREAM_URL: StreamEventsData["url"] = "/events/stream/";

/** Unless the stream says otherwise, as it does at its beginning. */
const FIRST_PAUSE_MS = 1_000;

/** The service says something every 15 seconds, be it only that it is there. */
const LONGEST_SILENCE_MS = 60_000;

export class Events {
  readonly #client: Client;
  readonly #send: typeof fetch;

  constructor(client: Client, send: typeof fetch) {
    this.#client = client;
    this.#send = send;
  }

  /** For staff: everything that happened. */
  list(query: ListEventsData["query"] = {}, options?: CallOptions): Pager<Event> {
    const { cursor: first, ...filter } = query;
    return new Pager((cursor = first) =>
      listEvents({ client: this.#client, query: { ...filter, cursor }, ...plain(options) })
    );
  }

  /**
   * What happens to your payments, invoices and subscriptions, as it happens, until the loop is
   * left; a signal that aborts ends it by an error. A connection that breaks is made anew, and
   * nothing is missed.
   */
  async *stream(
    query: StreamEventsData["query"] = {},
    options: StreamOptions = {},
  ): AsyncGenerator<Event, void, undefined> {
    const { silenceMs = LONGEST_SILENCE_MS } = options;
    let { lastEventId } = options;
    let pauseMs = FIRST_PAUSE_MS;
    let wasConnected = false;
    // How often connecting was tried since it last succeeded.
    for (let tries = 1;; tries++) {
      let problem: unknown;
      try {
        const body = await this.#connect(query, { ...options, lastEventId });
        wasConnected = true;
        tries = 0;
        for await (const message of readEventStream(body, silenceMs, options.signal)) {
          pauseMs = message.retryMs ?? pauseMs;
          if (message.data !== undefined) yield JSON.parse(message.data) as Event;
          // Also of a message without an event: the stream begins with where it is.
          lastEventId = message.id ?? lastEventId;
        }
      } catch (error) {
        // A service that was never reached may be the wrong one; one that was comes back.
        if (!wasConnected || options.signal?.aborted || !passes(error)) throw error;
        problem = error;
      }
      await pause(reconnectPauseMs(pauseMs, tries, problem), options.signal);
    }
  }

  async #connect(query: StreamEventsData["query"], { lastEventId, ...options }: StreamOptions) {
    const { headers, ...call } = plain(options);
    const { data } = await this.#client.get<{ 200: ReadableStream<Uint8Array> }, unknown, true>({
      ...call,
      url: STREAM_URL,
      security: [{ scheme: "bearer", type: "http" }],
      query,
      headers: { ...headers, ...(lastEventId && { "Last-Event-ID": lastEventId }) },
      parseAs: "stream",
      // Not the client's own, which gives up on answers that take too long to end.
      fetch: this.#send,
    });
    return data;
  }
}

/** Whether it may be better in a second. */
function passes(error: unknown): boolean {
  if (error instanceof PaymentGatewayError) return error.status === 429 || error.status >= 500;
  return !(error instanceof SyntaxError);
}
