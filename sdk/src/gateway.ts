/** The way in: one object with the service's resources on it. */

import type { Client } from "#api/client";
import { getCaller, getStatus } from "#api/sdk";
import type { Caller, Status } from "#api/types";
import { answeredWithin } from "./answered_within.ts";
import { createApiClient } from "./api_client.ts";
import { answer, type CallOptions, plain } from "./call.ts";
import { Charges } from "./charges.ts";
import { demandIds } from "./demand_ids.ts";
import { asThrown } from "./errors.ts";
import { Events } from "./events.ts";
import { demandExpectedType, demandObject } from "./expected_type.ts";
import { Invoices } from "./invoices.ts";
import { Jobs } from "./jobs.ts";
import { Notifications } from "./notifications.ts";
import { Payments } from "./payments.ts";
import { retrying } from "./retrying_fetch.ts";
import { Subscriptions } from "./subscriptions.ts";
import { WebhookEndpoints } from "./webhook_endpoints.ts";

export interface PaymentGatewayOptions {
  /** Where the service is: `https://pay.example.com`. */
  baseUrl: string;
  /** An API key (`gk_…`) or a JWT; a function is asked before every request. */
  apiKey: string | (() => string | Promise<string>);
  /**
   * How often a request is repeated when there was no answer, or one that may be another later
   * (409, 429, 500, 502, 503, 504). Only what is safe to repeat is: reads, and writes that bear an
   * `Idempotency-Key`. 2 unless given.
   */
  maxRetries?: number;
  /** How long one attempt may take, or a stream to begin; 60 seconds unless given. */
  timeoutMs?: number;
  /** What to send requests with, in place of the platform's `fetch`. */
  fetch?: typeof fetch;
}

/** Everything that the service does, for one caller. */
export class PaymentGateway {
  readonly charges: Charges;
  readonly payments: Payments;
  readonly invoices: Invoices;
  readonly subscriptions: Subscriptions;
  readonly events: Events;
  readonly jobs: Jobs;
  readonly notifications: Notifications;
  readonly webhookEndpoints: WebhookEndpoints;
  readonly #client: Client;

  constructor(options: PaymentGatewayOptions) {
    const { baseUrl, apiKey, maxRetries = 2, timeoutMs = 60_000 } = options;
    // Looked up at each call, so that what replaces the global one later is used, too.
    const send: typeof fetch = options.fetch ?? ((input, init) => fetch(input, init));
    const client = createApiClient({
      baseUrl: baseUrl.replace(/\/+$/, ""),
      auth: typeof apiKey === "string" ? apiKey : () => apiKey(),
      parseAs: "json",
      requestValidator: demandIds,
      responseValidator: demandObject,
      fetch: retrying(send, { maxRetries, timeoutMs }),
    });
    client.interceptors.response.use(demandExpectedType);
    client.interceptors.error.use(asThrown);
    this.#client = client;
    this.charges = new Charges(client);
    this.payments = new Payments(client);
    this.invoices = new Invoices(client);
    this.subscriptions = new Subscriptions(client);
    this.events = new Events(client, answeredWithin(timeoutMs, send));
    this.jobs = new Jobs(client);
    this.notifications = new Notifications(client);
    this.webhookEndpoints = new WebhookEndpoints(client);
  }

  /** Whose key this is: the quickest check that it works. */
  me(options?: CallOptions): Promise<Caller> {
    return answer(getCaller({ client: this.#client, ...plain(options) }));
  }

  /** For staff: how the service is doing. */
  status(options?: CallOptions): Promise<Status> {
    return answer(getStatus({ client: this.#client, ...plain(options) }));
  }
}

/** The client of one installation, for the caller whose key it is given. */
export function createPaymentGateway(options: PaymentGatewayOptions): PaymentGateway {
  return new PaymentGateway(options);
}
