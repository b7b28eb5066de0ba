/** Serves one endpoint in these steps: fault, authorization, idempotency, operation, response. */

import type { Context } from "hono";
import { setTimeout as delay } from "node:timers/promises";
import { corruptResponse, respondWithFault } from "../faults/fault_responses.ts";
import type { Fault } from "../faults/faults.ts";
import { Refusal, type RefusalCode } from "../http/refusal.ts";
import { readBody } from "../http/request.ts";
import { type ApiResponse, render } from "../http/response.ts";
import type { World } from "../world/world.ts";
import type { Call, Endpoint } from "./endpoints.ts";
import { TOKENS } from "./families.ts";
import type { Idempotency } from "./idempotency.ts";

export interface Pipeline {
  world: World;
  idempotency: Idempotency;
  /** Aborted when the sandbox closes, so that delayed responses end. */
  closing: AbortSignal;
  reportError(error: unknown): void;
}

export function serveEndpoint(endpoint: Endpoint, pipeline: Pipeline) {
  const { operation, family } = endpoint;
  const { world, closing } = pipeline;
  const refuse = (code: RefusalCode) => family.refuse(new Refusal(code), world.random.uuid());
  return async (c: Context): Promise<Response> => {
    const fault = world.faults.takeForResponse(operation);
    const faultResponse = fault && await respondWithFault(fault, refuse, closing);
    if (faultResponse) return faultResponse;
    const response = await runCall(c, endpoint, fault, pipeline);
    await world.committed();
    const rendered = corruptResponse(fault, response) ?? render(response);
    // In the browser, the merchants' pages request tokens, and these pages have other origins.
    if (family === TOKENS) rendered.headers.set("Access-Control-Allow-Origin", "*");
    return rendered;
  };
}

async function runCall(
  c: Context,
  endpoint: Endpoint,
  fault: Fault | null,
  { world, idempotency, closing, reportError }: Pipeline,
): Promise<ApiResponse> {
  const { family } = endpoint;
  const request = c.req.raw;
  try {
    family.authorize(request.headers.get("authorization"), world);
    const body = endpoint.method === "GET" ? undefined : await readBody(request, endpoint.maxBytes);
    const call: Call = {
      id: c.req.param("id") ?? "",
      query: c.req.query(),
      headers: request.headers,
      body: endpoint.read ? endpoint.read(body) : body,
      isDeclinedByBank: fault?.fault === "bank_refuses",
      isPendingAtBank: fault?.fault === "bank_pending",
    };
    const rules = endpoint.method === "POST" ? family.idempotency : null;
    const key = rules && request.headers.get(rules.header);
    const response = await idempotency.run(rules, key, async () => {
      let committed = Promise.resolve();
      try {
        const { result, delivered } = world.notifier.trackDeliveries(() =>
          endpoint.run(world, call)
        );
        committed = world.committed();
        if (fault?.fault === "webhook_first") await delivered;
        return family.succeed(result, endpoint.http);
      } finally {
        // Inside the idempotent call: if the request is repeated during the delay, the gateway
        // responds that it is still being processed (202).
        if (fault?.fault === "delay") await pause(fault.delay_ms, closing);
        if (fault) await committed;
      }
    });
    return response === "running" ? family.refuse(new Refusal(202), world.random.uuid()) : response;
  } catch (error) {
    return family.refuse(refusalOf(error, reportError), world.random.uuid());
  }
}

function refusalOf(error: unknown, reportError: (error: unknown) => void): Refusal {
  if (error instanceof Refusal) return error;
  // JSON nested too deep to process is the caller's error.
  if (error instanceof RangeError) return new Refusal(413);
  reportError(error);
  return new Refusal(500);
}

/** Ends early when the sandbox closes. */
async function pause(ms: number, closing: AbortSignal): Promise<void> {
  await delay(ms, null, { signal: closing }).catch(() => {});
}
