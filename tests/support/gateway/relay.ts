/** Stands between the service and the emulated gateway: sees every call, and can meddle with it. */

import type { TestAppOptions } from "../app.ts";
import { type FakeGateway, openGateway, type Received } from "./gateway.ts";
import { openPayments, type TestPayments } from "../payments/payments.ts";
import { inTime } from "../until.ts";

export type Meddle = (
  request: Received,
  /** Lets the gateway do it. */
  pass: () => Promise<Response>,
) => Response | Promise<Response>;

export interface Relay extends FakeGateway {
  /** Where the gateway is; to be told before the first call. */
  target: string;
  /** What becomes of a call; it is passed on unless a test says otherwise. */
  meddle: Meddle;
  /** What was asked for so far, as `POST /v2/charge`; ids are left out. */
  asked(): string[];
  /** How often that was asked for. */
  times(call: string): number;
  /** Keeps the next call of this kind back until it is released. */
  holdNext(call: string): Held;
  /** Lets the gateway do the next call of this kind, and keeps its answer back. */
  holdAnswer(call: string): Held;
  /** Keeps nothing back any more: a test that fails must not wait for ever. */
  releaseAll(): void;
}

export interface Held {
  /** Resolves when there is something that is kept back; fails where nothing comes. */
  readonly arrived: Promise<void>;
  release(): void;
}

export function openRelay(): Relay {
  const releases: (() => void)[] = [];
  const gateway = openGateway((request) => relay.meddle(request, () => pass(relay, request)));
  const relay: Relay = {
    ...gateway,
    target: "",
    meddle: (_request, pass) => pass(),
    asked: () => gateway.received.map(nameOf),
    times: (call) => relay.asked().filter((each) => each === call).length,
    holdNext: (call) => hold(call, "question"),
    holdAnswer: (call) => hold(call, "answer"),
    releaseAll: () => releases.forEach((release) => release()),
  };
  return relay;

  function hold(call: string, part: "question" | "answer"): Held {
    const arrived = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    releases.push(held.resolve);
    const { meddle } = relay;
    relay.meddle = async (request, pass) => {
      if (nameOf(request) !== call) return await meddle(request, pass);
      relay.meddle = meddle;
      const answer = part === "answer" ? await meddle(request, pass) : null;
      arrived.resolve();
      await held.promise;
      return answer ?? await meddle(request, pass);
    };
    return {
      get arrived() {
        return inTime(`${call} is kept back`, arrived.promise);
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
    headers: [...headers].filter(([name]) => !OF_THE_CONNECTION.includes(name)),
    // What can be read once only is not sent twice when a connection breaks.
    body: method === "GET" ? null : ReadableStream.from([new TextEncoder().encode(body)]),
  });
  return new Response(answer.body, { status: answer.status, headers: answer.headers });
}

const OF_THE_CONNECTION = ["host", "connection", "content-length", "transfer-encoding"];

export interface RelayedPayments extends TestPayments {
  relay: Relay;
}

/** The app with a relay between it and the sandbox; what the test itself asks the sandbox goes past it. */
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
