/** The way of a call through the sandbox: faults, keys, idempotency, the operation, its answer. */

import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "hono";
import { RecordTooLarge } from "../world/table.ts";
import type { World } from "../world/world.ts";
import type { Call, Endpoint } from "./endpoints.ts";
import type { Answer, Family } from "./families.ts";
import type { Fault } from "../world/faults.ts";
import type { Idempotency } from "./idempotency.ts";
import { readBody } from "../http/read_body.ts";
import { Refusal } from "../http/refusal.ts";

export interface Pipeline {
  world: World;
  idempotency: Idempotency;
  /** Aborted when the sandbox closes, so that nobody waits for an answer that never comes. */
  closing: AbortSignal;
  reportMistake(error: unknown): void;
}

export function serveEndpoint(endpoint: Endpoint, pipeline: Pipeline) {
  const { operation, family } = endpoint;
  return async (c: Context): Promise<Response> => {
    const fault = pipeline.world.faults.takeForAnswer(operation);
    const instead = fault && await answerInstead(fault, family, pipeline);
    if (instead) return instead;
    const answer = await answerCall(c, endpoint, fault, pipeline);
    await pipeline.world.committed();
    return spoil(fault, answer) ?? render(answer);
  };
}

async function answerCall(
  c: Context,
  endpoint: Endpoint,
  fault: Fault | null,
  { world, idempotency, closing, reportMistake }: Pipeline,
): Promise<Answer> {
  const { family } = endpoint;
  const request = c.req.raw;
  try {
    family.authorize(request.headers.get("authorization"), world);
    const body = endpoint.method === "GET" ? undefined : await readBody(request);
    const call: Call = {
      id: c.req.param("id") ?? "",
      query: c.req.query(),
      headers: request.headers,
      body: endpoint.read ? endpoint.read(body) : body,
      isRefusedByBank: fault?.fault === "bank_refuses",
    };
    const rules = endpoint.method === "POST" ? family.idempotency : null;
    const key = rules && request.headers.get(rules.header);
    const answer = await idempotency.run(rules, key, async () => {
      try {
        const { result, told } = world.notifier.during(() => endpoint.run(world, call));
        if (fault?.fault === "webhook_first") await told;
        return family.succeed(result, endpoint.http);
      } finally {
        // Late on purpose: until then the key is one whose first request still runs.
        if (fault?.fault === "delay") await pause(fault.delay_ms, closing);
      }
    });
    return answer === "running" ? family.refuse(new Refusal(202), world.random.uuid()) : answer;
  } catch (error) {
    return family.refuse(refusalOf(error, reportMistake), world.random.uuid());
  }
}

function refusalOf(error: unknown, reportMistake: (error: unknown) => void): Refusal {
  if (error instanceof Refusal) return error;
  // What is too large to be kept, or nested too deep to be read, is the caller's doing.
  if (error instanceof RecordTooLarge || error instanceof RangeError) return new Refusal(413);
  reportMistake(error);
  return new Refusal(500);
}

/** Faults that strike before anything is done. */
async function answerInstead(
  fault: Fault,
  family: Family,
  { world, closing }: Pipeline,
): Promise<Response | null> {
  const refuse = (code: 429 | 500 | 503) => family.refuse(new Refusal(code), world.random.uuid());
  switch (fault.fault) {
    case "no_answer":
      await aborted(closing);
      return cut();
    case "reset":
      return cut();
    case "error_500":
      return render({ ...refuse(500), http: 500 });
    case "error_503":
      return render({ ...refuse(503), http: 503 });
    case "hidden_500": {
      const answer = refuse(500);
      // Where no code is in the body, there is nothing to hide it in.
      const isCoded = typeof answer.body === "object" && "status_code" in answer.body!;
      return render({ ...answer, http: isCoded ? 200 : 500 });
    }
    case "rate_limit": {
      const response = render({ ...refuse(429), http: 429 });
      if (fault.retry_after !== null) {
        response.headers.set("Retry-After", String(fault.retry_after));
      }
      return response;
    }
    case "html":
      return new Response("<html><body><h1>502 Bad Gateway</h1></body></html>", {
        status: 502,
        headers: { "Content-Type": "text/html" },
      });
    default:
      return null;
  }
}

/** Faults that strike when all is done. */
function spoil(fault: Fault | null, answer: Answer): Response | null {
  switch (fault?.fault) {
    case "answer_lost":
      return cut();
    case "broken_json": {
      const text = JSON.stringify(answer.body);
      return new Response(text.slice(0, text.length / 2), {
        status: answer.http,
        headers: { "Content-Type": "application/json" },
      });
    }
    default:
      return null;
  }
}

export function render({ http, body }: Answer): Response {
  return typeof body === "string"
    ? new Response(body, { status: http, headers: { "Content-Type": "text/plain" } })
    : Response.json(body, { status: http });
}

/** Cuts the connection after the head of an answer, as close to a reset as this server can get. */
function cut(): Response {
  const body = new ReadableStream({ start: (controller) => controller.close() });
  return new Response(body, { headers: { "Content-Length": "1000" } });
}

/** Cut short when the sandbox closes. */
async function pause(ms: number, closing: AbortSignal): Promise<void> {
  await delay(ms, null, { signal: closing }).catch(() => {});
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
