/**
 * A session runs the steps at one gateway: at the gateway of the settings, or at the sandbox of
 * this project. Later steps use values from the responses to earlier steps.
 */

import { setTimeout as delay } from "node:timers/promises";
import { createGatewayClient } from "../../core/gateway/client.ts";
import type { JsonObject } from "../../core/gateway/json.ts";
import { withSecretsIn } from "../../core/gateway/mask.ts";
import { formatWib } from "../../core/gateway/times.ts";
import type { Exchange } from "../../core/gateway/transport.ts";
import {
  type Answer,
  callOperation,
  type Operation,
  type Recording,
  toRecording,
} from "./recordings.ts";

export interface Step {
  name: string;
  operation: Operation;
  /** The arguments of the client's operation. Throws `NotRun` if they are not known. */
  args(earlier: Earlier): unknown[];
  /** The call uses a server key that does not exist. */
  hasWrongKey?: boolean;
  /** What a person does before the call. */
  person?(earlier: Earlier): Task;
}

/** What a person does at the gateway's simulator, and the same in the sandbox's control API. */
export interface Task {
  text: string;
  controlPath: string;
}

/** Asks a person to do the task; false if the person skips it. */
export type Person = (task: Task) => Promise<boolean> | boolean;

/** What the arguments of a step are made of. */
export interface Earlier {
  /** An id that is new in this run: for an order, a refund or an idempotency key. */
  id(name: string): string;
  /** A time in the gateway's format for requests, this many days after the start of the run. */
  time(days: number): string;
  /** The response to an earlier step. Throws `NotRun` if it was an error or did not arrive. */
  body(step: string): JsonObject;
  /** A member of that response that is text. */
  take(step: string, member: string): string;
}

/** The step was not run, or the gateway did not respond to it. */
export class NotRun extends Error {
  override name = "NotRun";
  constructor(
    message: string,
    /** `from`: the earlier step without a result. */
    readonly details: { isUnanswered?: boolean; from?: string } = {},
  ) {
    super(message);
  }
}

export interface Keys {
  baseUrl: string;
  serverKey: string;
  clientKey: string | null;
}

export interface SessionOptions {
  gateway: Keys;
  runId: string;
  startedAt: number;
  /** Null if no person is there. */
  person: Person | null;
}

export interface Session {
  /** Throws `NotRun`. */
  run(step: Step): Promise<Recording>;
}

const WRONG_KEY = "SB-Mid-server-this-key-does-not-exist";

/** After a person has paid, the payment may stay pending for some time. */
const PENDING_RETRIES = 15;
const PENDING_DELAY_MS = 2_000;

const RATE_LIMIT_RETRIES = 5;

export function createSession({ gateway, runId, startedAt, person }: SessionOptions): Session {
  let exchange: Exchange | null = null;
  const onExchange = (each: Exchange) => exchange = each;
  const client = createGatewayClient({ ...gateway, onExchange });
  const wrongClient = createGatewayClient({ ...gateway, serverKey: WRONG_KEY, onExchange });
  const bodies = new Map<string, JsonObject>();
  let secrets = [gateway.serverKey, ...gateway.clientKey ? [gateway.clientKey] : []];

  const earlier: Earlier = {
    id: (name) => `${runId}-${name.replaceAll(/\W+/g, "-")}`.slice(0, 36),
    time: (days) => formatWib(new Date(startedAt + days * 86_400_000)),
    body(step) {
      const body = bodies.get(step);
      if (!body) throw new NotRun(`"${step}" had no result`, { from: step });
      return body;
    },
    take(step, member) {
      const value = earlier.body(step)[member];
      if (typeof value === "string" && value !== "") return value;
      throw new NotRun(`the response to "${step}" has no ${member}`);
    },
  };

  async function call({ operation, hasWrongKey }: Step, args: unknown[]): Promise<Answer> {
    for (let retries = 0;; retries++) {
      exchange = null;
      const answer = await callOperation(hasWrongKey ? wrongClient : client, operation, args);
      if (answer.reading.statusCode !== "429" || retries === RATE_LIMIT_RETRIES) return answer;
      await delay((answer.retryAfterSeconds ?? 5) * 1_000);
    }
  }

  return {
    async run(step) {
      const { name, operation } = step;
      const args = step.args(earlier);
      const isToken = operation === "getCardToken" || operation === "registerCard";
      if (isToken && gateway.clientKey === null) {
        throw new NotRun("GATEWAY_CLIENT_KEY is not set");
      }
      if (step.person) await askPerson(person, step.person(earlier));
      let answer = await call(step, args);
      for (let tries = 0; step.person && isPending(answer.body); tries++) {
        if (tries === PENDING_RETRIES) throw new NotRun("still pending after the person's action");
        await delay(PENDING_DELAY_MS);
        answer = await call(step, args);
      }
      const { reading, body, failure } = answer;
      if (failure !== "answered" || exchange === null) {
        throw new NotRun(`no response (${failure})`, { isUnanswered: true });
      }
      if (reading.error === null) bodies.set(name, body);
      secrets = withSecretsIn(secrets, body);
      const { order_id, status_code, gross_amount, signature_key } = body;
      const isSignatureValid = signature_key === undefined || reading.error !== null
        ? null
        : client.verifySignature(order_id, status_code, gross_amount, signature_key);
      const recorded = { step: name, operation, reading, isSignatureValid };
      return toRecording(recorded, args, exchange, secrets);
    },
  };
}

async function askPerson(person: Person | null, task: Task): Promise<void> {
  if (!person) throw new NotRun("needs a person at a terminal");
  if (!await person(task)) throw new NotRun("skipped");
}

function isPending({ transaction_status, account_status }: JsonObject): boolean {
  return /^pending$/i.test(String(transaction_status ?? account_status));
}
