/**
 * Runs all steps at the gateway and at a sandbox of this project, and compares the two responses to
 * each step.
 */

import { randomBytes } from "node:crypto";
import type { JsonObject } from "../../core/gateway/json.ts";
import { systemClock } from "../../core/time/clock.ts";
import { Failure } from "../terminal.ts";
import { type BothSeen, compareRecordings, type Difference, newSeen } from "./compare.ts";
import type { Recording } from "./recordings.ts";
import {
  createSession,
  type Keys,
  NotRun,
  type Person,
  type Session,
  type Step,
} from "./session.ts";
import { STEPS } from "./steps.ts";

export interface StepResult {
  step: string;
  result: "agrees" | "differs" | "not_available" | "not_run";
  /** Why the step was not run; null if it was. */
  reason: string | null;
  differences: Difference[];
}

export interface Verification {
  results: StepResult[];
  recordings: Recording[];
}

export interface VerifyOptions {
  gateway: Keys;
  /** Null if no person is there. */
  person: Person | null;
  /** Called after each step. */
  onResult?: (result: StepResult) => void;
}

/** Throws a `Failure` if the gateway cannot be reached or rejects the server key. */
export async function verifyGateway(options: VerifyOptions): Promise<Verification> {
  const { gateway, person, onResult } = options;
  const { DEFAULT_KEYS, startSandbox } = await import("../../sandbox/sandbox.ts");
  await using sandbox = await startSandbox({ port: 0, path: null });
  const run = { runId: `v${randomBytes(5).toString("hex")}`, startedAt: systemClock() };
  const seen = newSeen();
  const sessions = {
    gateway: createSession({ ...run, gateway, person }),
    sandbox: createSession({
      ...run,
      gateway: {
        baseUrl: sandbox.url,
        serverKey: DEFAULT_KEYS.server,
        clientKey: DEFAULT_KEYS.client,
      },
      person: (task) => controlSandbox(sandbox.url, task.controlPath),
    }),
  };
  const notAvailable = new Set<string>();
  const verification: Verification = { results: [], recordings: [] };
  for (const step of STEPS) {
    const sent = await runStep(sessions.gateway, step);
    if (step === STEPS[0]) requireAccess(sent, gateway.baseUrl);
    if (!(sent instanceof NotRun)) verification.recordings.push(sent);
    // The gateway may have executed a call that it did not respond to.
    const isSkipped = sent instanceof NotRun && !sent.details.isUnanswered;
    const assumed = isSkipped ? sent : await runStep(sessions.sandbox, step);
    const result = resultOf(step.name, sent, assumed, { seen, notAvailable });
    if (result.result === "not_available") notAvailable.add(step.name);
    verification.results.push(result);
    onResult?.(result);
  }
  return verification;
}

async function runStep(session: Session, step: Step): Promise<Recording | NotRun> {
  try {
    return await session.run(step);
  } catch (error) {
    if (error instanceof NotRun) return error;
    throw error;
  }
}

/** Does in the sandbox what a person does at the gateway's simulator. */
export async function controlSandbox(url: string, path: string): Promise<boolean> {
  const response = await fetch(`${url}/_sandbox/${path}`, { method: "POST" });
  await response.body?.cancel();
  return response.ok;
}

/** Without a response, or with a wrong key, all other steps would fail as well. */
function requireAccess(sent: Recording | NotRun, url: string): void {
  if (sent instanceof NotRun) throw new Failure(`${url}: ${sent.message}.`);
  if (sent.reading.statusCode === "401") {
    throw new Failure(`${url} rejected GATEWAY_SERVER_KEY. Use a key of the gateway's sandbox.`);
  }
}

interface Context {
  seen: BothSeen;
  /** Steps whose payment type or feature the account does not have. */
  notAvailable: Set<string>;
}

function resultOf(
  step: string,
  sent: Recording | NotRun,
  assumed: Recording | NotRun,
  { seen, notAvailable }: Context,
): StepResult {
  const result = { step, reason: null, differences: [] };
  if (sent instanceof NotRun) {
    const { isUnanswered, from } = sent.details;
    if (isUnanswered) {
      const difference = { member: "response", gateway: sent.message, assumed: "a response" };
      return {
        ...result,
        result: "differs",
        differences: [{ ...difference, affectsClient: true }],
      };
    }
    const isMissing = from !== undefined && notAvailable.has(from);
    return { ...result, result: isMissing ? "not_available" : "not_run", reason: sent.message };
  }
  if (assumed instanceof NotRun) {
    return { ...result, result: "not_run", reason: `in the sandbox: ${assumed.message}` };
  }
  if (isNotActivated(sent) && !isNotActivated(assumed)) {
    const { status_message } = sent.response.body as JsonObject;
    return { ...result, result: "not_available", reason: String(status_message ?? "402") };
  }
  const differences = compareRecordings(sent, assumed, seen);
  return { ...result, result: differences.length > 0 ? "differs" : "agrees", differences };
}

function isNotActivated({ reading, response: { body } }: Recording): boolean {
  const { status_message } = body as JsonObject;
  return reading.statusCode === "402" || /channel is not activated/i.test(String(status_message));
}
