/** The client object, with one member per resource of the API. */

import { type Client, type Config, createClient } from "#api/client";
import { getCaller, getStatus } from "#api/sdk";
import type { Caller, Status } from "#api/types";
import { type CallLimits, type CallOptions, dataOf, toRequestOptions } from "./call.ts";
import { Audit } from "./audit.ts";
import { Charges } from "./charges.ts";
import { Checkouts } from "./checkouts.ts";
import { toCallError } from "./errors.ts";
import { Events } from "./events.ts";
import { Invoices } from "./invoices.ts";
import { Jobs } from "./jobs.ts";
import { Keys } from "./keys.ts";
import { Notifications } from "./notifications.ts";
import { Payments } from "./payments.ts";
import { Refunds } from "./refunds.ts";
import { Reports } from "./reports.ts";
import { Reviews } from "./reviews.ts";
import { withRetries } from "./retry.ts";
import { Subscriptions } from "./subscriptions.ts";
import { Timelines } from "./timelines.ts";
import { requireExpectedType, requireIds, requireKey, requireObject } from "./validate.ts";
import { WebhookEndpoints } from "./webhook_endpoints.ts";

export interface PaymentGatewayOptions {
  /** URL of the service, such as `https://pay.example.com`. */
  baseUrl: string;
  /** An API key (`gk_…`) or a JWT, not empty. A function is called before every request. */
  apiKey: string | (() => string | Promise<string>);
  /**
   * How many times a request is retried if there was no response, or if its status is retryable
   * (409, 429, 500, 502, 503, 504). Only safe requests are retried: reads (but neither exports nor
   * the event stream), and writes with an `Idempotency-Key`. Default: 2.
   */
  maxRetries?: number;
  /** Timeout of one attempt, or until a stream starts. Default: 60 seconds. */
  timeoutMs?: number;
  /** Replaces the platform's `fetch`. */
  fetch?: typeof fetch;
}

/** The API of the service, for one caller. */
export class PaymentGateway {
  readonly charges: Charges;
  readonly checkouts: Checkouts;
  readonly payments: Payments;
  readonly refunds: Refunds;
  readonly reviews: Reviews;
  readonly invoices: Invoices;
  readonly subscriptions: Subscriptions;
  readonly timelines: Timelines;
  readonly events: Events;
  readonly reports: Reports;
  readonly jobs: Jobs;
  readonly keys: Keys;
  readonly audit: Audit;
  readonly notifications: Notifications;
  readonly webhookEndpoints: WebhookEndpoints;
  readonly #client: Client;

  constructor(options: PaymentGatewayOptions) {
    const { baseUrl, apiKey, maxRetries = 2, timeoutMs = 60_000 } = options;
    // The global `fetch` is looked up at each call, because it may be replaced later.
    const send: typeof fetch = options.fetch ?? ((input, init) => fetch(input, init));
    const client = createApiClient({
      baseUrl: baseUrl.replace(/\/+$/, ""),
      auth: typeof apiKey === "function"
        ? async () => requireKey(await apiKey())
        : requireKey(apiKey),
      parseAs: "json",
      requestValidator: requireIds,
      responseValidator: requireObject,
    }, (limits) =>
      withRetries(send, {
        maxRetries: limits.maxRetries ?? maxRetries,
        timeoutMs: limits.timeoutMs ?? timeoutMs,
      }));
    client.interceptors.response.use(requireExpectedType);
    client.interceptors.error.use(toCallError);
    this.#client = client;
    this.charges = new Charges(client);
    this.checkouts = new Checkouts(client);
    this.payments = new Payments(client);
    this.refunds = new Refunds(client);
    this.reviews = new Reviews(client);
    this.invoices = new Invoices(client);
    this.subscriptions = new Subscriptions(client);
    this.timelines = new Timelines(client);
    this.events = new Events(client, send, timeoutMs);
    this.reports = new Reports(client, send, timeoutMs);
    this.jobs = new Jobs(client);
    this.keys = new Keys(client);
    this.audit = new Audit(client);
    this.notifications = new Notifications(client);
    this.webhookEndpoints = new WebhookEndpoints(client);
  }

  /** The caller that the key belongs to. Use it to check that the key works. */
  me(options?: CallOptions): Promise<Caller> {
    return dataOf(getCaller({ client: this.#client, ...toRequestOptions(options) }));
  }

  /** The status of the service. Staff and viewers only. */
  status(options?: CallOptions): Promise<Status> {
    return dataOf(getStatus({ client: this.#client, ...toRequestOptions(options) }));
  }
}

/** Creates a client for one service and one caller. */
export function createPaymentGateway(options: PaymentGatewayOptions): PaymentGateway {
  return new PaymentGateway(options);
}

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

/**
 * A client whose methods remove the option `client` of each call: generated code passes it on to
 * `new Request`, where Deno expects a `Deno.HttpClient`, and throws. The methods also apply the
 * limits of each call, unless the call has its own `fetch`.
 */
function createApiClient(config: Config, fetchWith: (limits: CallLimits) => typeof fetch): Client {
  // Checks the limits of the client when it is created, not at the first call.
  const client = createClient({ ...config, fetch: fetchWith({}) });
  const methods = METHODS.map((method) => {
    // Asynchronous, so that invalid limits reject the call.
    const call = async (options: Parameters<Client["get"]>[0]) => {
      const { client: _, timeoutMs, maxRetries, ...rest } = options as
        & typeof options
        & CallLimits
        & { client?: Client };
      const fetch = rest.fetch ?? fetchWith({ timeoutMs, maxRetries });
      return await client[method]({ ...rest, fetch } as typeof options);
    };
    return [method, call];
  });
  return { ...client, ...Object.fromEntries(methods) };
}
