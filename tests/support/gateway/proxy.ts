/** A way to the sandbox that a test can stand in: calls and answers wait until it lets them pass. */

import type { TestAppOptions } from "../app.ts";
import { openGateway, type Received } from "./gateway.ts";
import { openPayments, type TestPayments } from "../payments/payments.ts";
import { inTime } from "../until.ts";

/** `pass` brings the call to the sandbox and has its answer. */
type Interfere = (pass: () => Promise<Response>) => Response | Promise<Response>;

/** A call that is on its way to the sandbox, or an answer on its way back. */
export interface Held {
  /** Comes true when it is there, and waits; fails where it never comes. */
  readonly arrived: Promise<void>;
  letGo(): void;
}

export interface GatewayProxy {
  /** All that was asked so far. */
  received: Received[];
  /** Of these, what was to change something: `POST /v2/charge`. */
  writes(): string[];
  /** Stands in the way of the next call whose method and path match. */
  once(call: RegExp, interfere: Interfere): void;
  /** The next such call is answered with this body instead. */
  answer(call: RegExp, body: object): void;
  /** The next such call waits before the sandbox hears of it. */
  holdCall(call: RegExp): Held;
  /** The next such call is made, and its answer waits; or this one in its place. */
  holdAnswer(call: RegExp, instead?: object): Held;
}

export interface ProxiedPayments extends TestPayments {
  proxy: GatewayProxy;
}

/** The app and the sandbox, with a proxy in between. */
export async function openProxiedPayments(
  options: Partial<TestAppOptions> = {},
): Promise<ProxiedPayments> {
  let target = "";
  const rules: { call: RegExp; interfere: Interfere }[] = [];
  const held: (() => void)[] = [];

  const gateway = openGateway(async (request) => {
    const pass = () => forward(target, request);
    const index = rules.findIndex(({ call }) => call.test(nameOf(request)));
    if (index === -1) return await pass();
    const [rule] = rules.splice(index, 1);
    return await rule!.interfere(pass);
  });
  const payments = await openPayments({ ...options, gatewayUrl: gateway.url });
  target = payments.sandbox.url;

  function hold(call: RegExp, interfere: (wait: () => Promise<void>) => Interfere): Held {
    const arrival = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    held.push(release.resolve);
    proxy.once(
      call,
      interfere(() => {
        arrival.resolve();
        return release.promise;
      }),
    );
    return {
      get arrived() {
        return inTime(`${call} is there`, arrival.promise);
      },
      letGo: release.resolve,
    };
  }

  const proxy: GatewayProxy = {
    received: gateway.received,
    writes: () => gateway.received.map(nameOf).filter((name) => !name.startsWith("GET ")),
    once: (call, interfere) => void rules.push({ call, interfere }),
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
      held.forEach((letGo) => letGo());
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
  return text === null ? cut() : new Response(text, answer);
}

/** An answer that was cut off on its way is cut off here, too. */
function cut(): Response {
  const body = new ReadableStream({ start: (controller) => controller.close() });
  return new Response(body, { headers: { "Content-Length": "1000" } });
}
