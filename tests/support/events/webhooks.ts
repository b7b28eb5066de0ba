/** An app with a merchant's server that receives its webhooks. */

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
export type ReceivedEvent = z.output<typeof EventSchema>;

/** Ends `deliver` in tests in which a job is always due again. */
const MAX_ROUNDS = 10;

export interface TestWebhooks extends TestPayments {
  receiver: WebhookReceiver;
  staff: string;
  /** Creates an endpoint, by default at the receiver. */
  endpoint(input?: object): Promise<EndpointWithSecret>;
  readEndpoint(id: string): Promise<Endpoint>;
  change(id: string, changes: object): Promise<Endpoint>;
  deliveries(id: string, query?: string): Promise<Delivery[]>;
  /**
   * The deliveries of a resource in order, as `payment_received pending 1` (name, status,
   * attempts).
   */
  deliverySummaries(endpointId: string, resourceId: string): Promise<string[]>;
  /** Sends a request as staff. */
  requestAsStaff(method: string, path: string, body?: unknown): Promise<Response>;
  /** Queues the jobs of all due deliveries, as the publisher and the schedule do. */
  queueDeliveries(): Promise<void>;
  /** Runs all due deliveries, as the schedule and a worker would. */
  deliver(): Promise<void>;
  /** The events that the receiver got; verifies each signature. */
  receivedEvents(secret: string): ReceivedEvent[];
}

export async function openWebhooks(options: Partial<TestAppOptions> = {}): Promise<TestWebhooks> {
  const receiver = openWebhookReceiver();
  const payments = await openPayments({
    ...options,
    env: { WEBHOOK_ALLOW_PRIVATE: "true", ...options.env },
  });
  const { app } = payments;
  const staff = await app.createKey({ userId: "ops", isStaff: true });

  async function requestAsStaff(method: string, path: string, body?: unknown): Promise<Response> {
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
    requestAsStaff,
    endpoint: async (input = {}) =>
      WebhookEndpointWithSecretSchema.parse(
        await expectStatus(
          requestAsStaff("POST", "/webhook-endpoints/", { url: receiver.url, ...input }),
          201,
        ),
      ),
    readEndpoint: async (id) =>
      WebhookEndpointSchema.parse(
        await expectStatus(requestAsStaff("GET", `/webhook-endpoints/${id}/`), 200),
      ),
    change: async (id, changes) =>
      WebhookEndpointSchema.parse(
        await expectStatus(requestAsStaff("PATCH", `/webhook-endpoints/${id}/`, changes), 200),
      ),
    async deliveries(id, query = "") {
      await app.publishEvents();
      return WebhookDeliverySchema.array().parse(
        await expectStatus(
          requestAsStaff("GET", `/webhook-endpoints/${id}/deliveries/${query}`),
          200,
        ),
      );
    },
    deliverySummaries: async (endpointId, resourceId) =>
      (await webhooks.deliveries(endpointId)).filter(({ resource_id }) =>
        resource_id === resourceId
      )
        .map(({ event_name, status, attempts }) => `${event_name} ${status} ${attempts}`)
        .reverse(),
    async queueDeliveries() {
      await app.publishEvents();
      // The publisher queues its jobs after its commit, so some can be missing here. This queues
      // them.
      await sweepDeliveries(app.service);
      await app.service.waker[Symbol.asyncDispose]();
    },
    async deliver() {
      await webhooks.queueDeliveries();
      for (let rounds = 0; rounds < MAX_ROUNDS; rounds++) {
        // Waits for the publisher, which queues the jobs.
        await app.service.waker[Symbol.asyncDispose]();
        if (await runDueJobs(app) === 0) return;
      }
    },
    receivedEvents: (secret) =>
      receiver.received.map((webhook) => parseEvent(verifyWebhook(secret, webhook))),
    async [Symbol.asyncDispose]() {
      await payments[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
    },
  };
  return webhooks;
}

/** The names of the received events of a resource, in order. */
export function receivedNames(received: readonly ReceivedWebhook[], resourceId: string): string[] {
  return received.map(eventIn).filter(({ data }) => data.id === resourceId).map(({ name }) => name);
}

/** The event of a webhook; does not verify the signature. */
export function eventIn({ body }: ReceivedWebhook): ReceivedEvent {
  return parseEvent(JSON.parse(new TextDecoder().decode(body)));
}

function parseEvent(parsedJson: unknown): ReceivedEvent {
  checkEvent(parsedJson);
  return EventSchema.parse(parsedJson);
}

/** Whether the webhook is signed with this secret at its own timestamp, which may be old. */
export function isSignedWith(secret: string, { headers, body }: ReceivedWebhook): boolean {
  const signedAt = new Date(Number(headers["webhook-timestamp"]) * 1_000);
  const text = Buffer.from(body).toString();
  const signature = new Webhook(secret).sign(headers["webhook-id"]!, signedAt, text);
  return headers["webhook-signature"]!.split(" ").includes(signature);
}

/** The body of a response that must have this status. */
export async function expectStatus(request: Promise<Response>, status: number): Promise<unknown> {
  const response = await request;
  const text = await response.text();
  assert.equal(response.status, status, text);
  return text === "" ? null : JSON.parse(text);
}
