/** A proxy between the service and the sandbox that records every call and can intercept it. */

import type { TestAppOptions } from "../app.ts";
import { type FakeGateway, openFakeGateway, type Received } from "./gateway.ts";
import { openPayments, type TestPayments } from "../payments/payments.ts";
import { inTime } from "../until.ts";

export type Intercept = (
  request: Received,
  /** Forwards the call to the gateway. */
  pass: () => Promise<Response>,
) => Response | Promise<Response>;

export interface Relay extends FakeGateway {
  /** The gateway's URL; set it before the first call. */
  target: string;
  /** Returns the response to each call; by default it forwards the call. */
  intercept: Intercept;
  /** All calls so far, as `POST /v2/charge`; ids in `/v2/` paths are replaced by `:id`. */
  asked(): string[];
  /** The number of these calls. */
  times(call: string): number;
  /** Holds the next such call until it is released. */
  holdNext(call: string): Held;
  /** Forwards the next such call and holds its response. */
  holdAnswer(call: string): Held;
  /** Releases everything, so that a failing test does not hang. */
  releaseAll(): void;
}

export interface Held {
  /** Resolves when the call is held; rejects if it does not arrive in time. */
  readonly arrived: Promise<void>;
  release(): void;
}

export function openRelay(): Relay {
  const releases: (() => void)[] = [];
  const gateway = openFakeGateway((request) =>
    relay.intercept(request, () => pass(relay, request))
  );
  const relay: Relay = {
    ...gateway,
    target: "",
    intercept: (_request, pass) => pass(),
    asked: () => gateway.received.map(nameOf),
    times: (call) => relay.asked().filter((each) => each === call).length,
    holdNext: (call) => hold(call, "request"),
    holdAnswer: (call) => hold(call, "response"),
    releaseAll: () => releases.forEach((release) => release()),
  };
  return relay;

  function hold(call: string, part: "request" | "response"): Held {
    const arrived = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    releases.push(held.resolve);
    const { intercept } = relay;
    relay.intercept = async (request, pass) => {
      if (nameOf(request) !== call) return await intercept(request, pass);
      relay.intercept = intercept;
      const answer = part === "response" ? await intercept(request, pass) : null;
      arrived.resolve();
      await held.promise;
      return answer ?? await intercept(request, pass);
    };
    return {
      get arrived() {
        return inTime(`${call} is held`, arrived.promise);
      },
      release: held.resolve,
    };
  }
}

export function nameOf({ method, target }: Received): string {
  return `${method} ${target.replace(/^\/v2\/[^/]+\/(?=\w)/, "/v2/:id/")}`;
}

async function pass({ target }: Relay, request: Received): Promise<Response> {
  const { method, headers, body } = request;
  const answer = await fetch(target + request.target, {
    method,
    headers: [...headers].filter(([name]) => !CONNECTION_HEADERS.includes(name)),
    // Deno's fetch resends a text, but not a stream, when a connection breaks.
    body: method === "GET" ? null : ReadableStream.from([new TextEncoder().encode(body)]),
  });
  return new Response(answer.body, { status: answer.status, headers: answer.headers });
}

const CONNECTION_HEADERS = ["host", "connection", "content-length", "transfer-encoding"];

export interface RelayedPayments extends TestPayments {
  relay: Relay;
}

/** The app with a relay between it and the sandbox. Calls of the test itself bypass the relay. */
export async function openRelayed(options: Partial<TestAppOptions> = {}): Promise<RelayedPayments> {
  const relay = openRelay();
  const payments = await openPayments({ gatewayUrl: relay.url, ...options });
  relay.target = payments.sandbox.url;
  return {
    ...payments,
    relay,
    async [Symbol.asyncDispose]() {
      relay.releaseAll();
      await payments[Symbol.asyncDispose]();
      await relay[Symbol.asyncDispose]();
    },
  };
}
