/** The app with a merchant's server that takes its webhooks: what tests of deliveries begin with. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { z } from "@hono/zod-openapi";
import { Webhook } from "standardwebhooks";
import { sweepDeliveries } from "../../../core/webhooks/sweep.ts";
import {
  WebhookDeliverySchema,
  WebhookEndpointSchema,
  WebhookEndpointWithSecretSchema,
} from "../../../routes/webhook_endpoints/schemas.ts";
import { EventSchema } from "../../../routes/events/schemas.ts";
import type { TestAppOptions } from "../app.ts";
import { checkEvent } from "../document/contract.ts";
import { runDueJobs } from "../jobs/due_jobs.ts";
import { openPayments, type TestPayments } from "../payments/payments.ts";
import {
  openWebhookReceiver,
  type ReceivedWebhook,
  verifyWebhook,
  type WebhookReceiver,
} from "./webhook_receiver.ts";

export type Endpoint = z.output<typeof WebhookEndpointSchema>;
export type EndpointWithSecret = z.output<typeof WebhookEndpointWithSecretSchema>;
export type Delivery = z.output<typeof WebhookDeliverySchema>;
export type ToldEvent = z.output<typeof EventSchema>;

/** A job that is due again and again is no reason for a test to go on for ever. */
const MOST_ROUNDS = 10;

export interface TestWebhooks extends TestPayments {
  receiver: WebhookReceiver;
  staff: string;
  /** An endpoint at the receiver, unless told otherwise. */
  endpoint(input?: object): Promise<EndpointWithSecret>;
  readEndpoint(id: string): Promise<Endpoint>;
  change(id: string, changes: object): Promise<Endpoint>;
  deliveries(id: string, query?: string): Promise<Delivery[]>;
  /** Those of a resource in their order, as `payment_received pending 1`: with how often it was tried. */
  standing(endpointId: string, resourceId: string): Promise<string[]>;
  /** Asks as staff. */
  ask(method: string, path: string, body?: unknown): Promise<Response>;
  /** Runs what is due and what comes of that, as the schedule and a worker would. */
  deliver(): Promise<void>;
  /** What the receiver was told, each with a signature that holds. */
  told(secret: string): ToldEvent[];
}

export async function openWebhooks(options: Partial<TestAppOptions> = {}): Promise<TestWebhooks> {
  const receiver = openWebhookReceiver();
  const payments = await openPayments({
    ...options,
    env: { WEBHOOK_ALLOW_PRIVATE: "true", ...options.env },
  });
  const { app } = payments;
  const staff = await app.createKey({ userId: "ops", isStaff: true });

  async function ask(method: string, path: string, body?: unknown): Promise<Response> {
    return await app.as(staff, path, {
      method,
      ...body !== undefined && {
        body: JSON.stringify(body),
        headers: { "Content-Type": "application/json" },
      },
    });
  }

  const webhooks: TestWebhooks = {
    ...payments,
    receiver,
    staff,
    ask,
    endpoint: async (input = {}) =>
      WebhookEndpointWithSecretSchema.parse(
        await answered(ask("POST", "/webhook-endpoints/", { url: receiver.url, ...input }), 201),
      ),
    readEndpoint: async (id) =>
      WebhookEndpointSchema.parse(await answered(ask("GET", `/webhook-endpoints/${id}/`), 200)),
    change: async (id, changes) =>
      WebhookEndpointSchema.parse(
        await answered(ask("PATCH", `/webhook-endpoints/${id}/`, changes), 200),
      ),
    deliveries: async (id, query = "") =>
      WebhookDeliverySchema.array().parse(
        await answered(ask("GET", `/webhook-endpoints/${id}/deliveries/${query}`), 200),
      ),
    standing: async (endpointId, resourceId) =>
      (await webhooks.deliveries(endpointId)).filter(({ resource_id }) =>
        resource_id === resourceId
      )
        .map(({ event_name, status, attempts }) => `${event_name} ${status} ${attempts}`)
        .reverse(),
    async deliver() {
      await sweepDeliveries(app.deps);
      for (let rounds = 0; rounds < MOST_ROUNDS; rounds++) {
        // Told of, so that there is a job.
        await app.deps.publisher[Symbol.asyncDispose]();
        if (await runDueJobs(app) === 0) return;
      }
    },
    told: (secret) =>
      receiver.received.map((webhook) => parseEvent(verifyWebhook(secret, webhook))),
    async [Symbol.asyncDispose]() {
      await payments[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
    },
  };
  return webhooks;
}

/** What was told of a resource, as `payment_received`, in the order in which it came. */
export function toldOf(received: readonly ReceivedWebhook[], resourceId: string): string[] {
  return received.map(eventIn).filter(({ data }) => data.id === resourceId).map(({ name }) => name);
}

/** Whatever its signature is worth. */
export function eventIn({ body }: ReceivedWebhook): ToldEvent {
  return parseEvent(JSON.parse(new TextDecoder().decode(body)));
}

function parseEvent(said: unknown): ToldEvent {
  checkEvent(said);
  return EventSchema.parse(said);
}

/** Whether it was signed with that secret when it says it was, be that far from our own time. */
export function isSignedWith(secret: string, { headers, body }: ReceivedWebhook): boolean {
  const at = new Date(Number(headers["webhook-timestamp"]) * 1_000);
  const text = Buffer.from(body).toString();
  const signature = new Webhook(secret).sign(headers["webhook-id"]!, at, text);
  return headers["webhook-signature"]!.split(" ").includes(signature);
}

/** The body of an answer that has to be so. */
export async function answered(asked: Promise<Response>, status: number): Promise<unknown> {
  const response = await asked;
  const text = await response.text();
  assert.equal(response.status, status, text);
  return text === "" ? null : JSON.parse(text);
}
