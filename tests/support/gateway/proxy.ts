/** A proxy to the sandbox that can hold or replace the requests and responses of chosen calls. */

import type { TestAppOptions } from "../app.ts";
import { openFakeGateway, type Received } from "./gateway.ts";
import { openPayments, type TestPayments } from "../payments/payments.ts";
import { inTime } from "../until.ts";

/** `pass` forwards the call to the sandbox and resolves with its response. */
type Intercept = (pass: () => Promise<Response>) => Response | Promise<Response>;

/** A request or response that the proxy holds. */
export interface Held {
  /** Resolves when the proxy holds it; rejects if it does not arrive in time. */
  readonly arrived: Promise<void>;
  release(): void;
}

export interface GatewayProxy {
  /** All requests so far. */
  received: Received[];
  /** All requests so far other than GET, as `POST /v2/charge`. */
  writes(): string[];
  /** Intercepts the next call whose method and path match. */
  once(call: RegExp, intercept: Intercept): void;
  /** Responds to the next such call with this body, without the sandbox. */
  answer(call: RegExp, body: object): void;
  /** Holds the next such call before it reaches the sandbox. */
  holdCall(call: RegExp): Held;
  /** Forwards the next such call and holds its response, or holds `instead` without forwarding. */
  holdAnswer(call: RegExp, instead?: object): Held;
}

export interface ProxiedPayments extends TestPayments {
  proxy: GatewayProxy;
}

/** The app and the sandbox with a proxy between them. */
export async function openProxiedPayments(
  options: Partial<TestAppOptions> = {},
): Promise<ProxiedPayments> {
  let target = "";
  const rules: { call: RegExp; intercept: Intercept }[] = [];
  const held: (() => void)[] = [];

  const gateway = openFakeGateway(async (request) => {
    const pass = () => forward(target, request);
    const index = rules.findIndex(({ call }) => call.test(nameOf(request)));
    if (index === -1) return await pass();
    const [rule] = rules.splice(index, 1);
    return await rule!.intercept(pass);
  });
  const payments = await openPayments({ ...options, gatewayUrl: gateway.url });
  target = payments.sandbox.url;

  function hold(call: RegExp, intercept: (wait: () => Promise<void>) => Intercept): Held {
    const arrival = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    held.push(release.resolve);
    proxy.once(
      call,
      intercept(() => {
        arrival.resolve();
        return release.promise;
      }),
    );
    return {
      get arrived() {
        return inTime(`${call} has arrived`, arrival.promise);
      },
      release: release.resolve,
    };
  }

  const proxy: GatewayProxy = {
    received: gateway.received,
    writes: () => gateway.received.map(nameOf).filter((name) => !name.startsWith("GET ")),
    once: (call, intercept) => void rules.push({ call, intercept }),
    answer: (call, body) => proxy.once(call, () => Response.json(body)),
    holdCall: (call) => hold(call, (wait) => async (pass) => (await wait(), await pass())),
    holdAnswer: (call, instead) =>
      hold(call, (wait) => async (pass) => {
        const answer = instead ? Response.json(instead) : await pass();
        await wait();
        return answer;
      }),
  };

  return {
    ...payments,
    proxy,
    async [Symbol.asyncDispose]() {
      held.forEach((release) => release());
      await payments[Symbol.asyncDispose]();
      await gateway[Symbol.asyncDispose]();
    },
  };
}

function nameOf({ method, target }: Received): string {
  return `${method} ${target}`;
}

async function forward(base: string, { method, target, headers, body }: Received) {
  const passed = new Headers(headers);
  for (const name of ["host", "connection", "content-length"]) passed.delete(name);
  const answer = await fetch(base + target, {
    method,
    headers: passed,
    body: method === "GET" ? undefined : body,
  });
  const text = await answer.text().catch(() => null);
  return text === null ? truncatedResponse() : new Response(text, answer);
}

/** A truncated response is passed on as a truncated response. */
export function truncatedResponse(): Response {
  const body = new ReadableStream({ start: (controller) => controller.close() });
  return new Response(body, { headers: { "Content-Length": "1000" } });
}
