/** The way of a call through the sandbox: faults, keys, idempotency, the operation, its answer. */

import type { Context } from "hono";
import { setTimeout as delay } from "node:timers/promises";
import { RecordTooLarge } from "../engine/table.ts";
import { answerInstead, spoil } from "../faults/fault_responses.ts";
import type { Fault } from "../faults/faults.ts";
import { Refusal, type RefusalCode } from "../http/refusal.ts";
import { readBody } from "../http/request.ts";
import { type Answer, render } from "../http/response.ts";
import type { World } from "../world/world.ts";
import type { Call, Endpoint } from "./endpoints.ts";
import type { Idempotency } from "./idempotency.ts";

export interface Pipeline {
  world: World;
  idempotency: Idempotency;
  /** Aborted when the sandbox closes, so that nobody waits for an answer that never comes. */
  closing: AbortSignal;
  reportMistake(error: unknown): void;
}

export function serveEndpoint(endpoint: Endpoint, pipeline: Pipeline) {
  const { operation, family } = endpoint;
  const { world, closing } = pipeline;
  const refuse = (code: RefusalCode) => family.refuse(new Refusal(code), world.random.uuid());
  return async (c: Context): Promise<Response> => {
    const fault = world.faults.takeForAnswer(operation);
    const instead = fault && await answerInstead(fault, refuse, closing);
    if (instead) return instead;
    const answer = await answerCall(c, endpoint, fault, pipeline);
    await world.committed();
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

/** Cut short when the sandbox closes. */
async function pause(ms: number, closing: AbortSignal): Promise<void> {
  await delay(ms, null, { signal: closing }).catch(() => {});
}
