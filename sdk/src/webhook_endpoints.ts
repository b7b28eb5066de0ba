/** Webhook endpoints and their deliveries. Staff only; viewers can read them. */

import type { Client } from "#api/client";
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  getWebhookEndpoint,
  listWebhookDeliveries,
  listWebhookEndpoints,
  resendWebhookDelivery,
  rotateWebhookSecret,
  testWebhookEndpoint,
  updateWebhookEndpoint,
} from "#api/sdk";
import type {
  ListWebhookDeliveriesData,
  ListWebhookEndpointsData,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointRequest,
  WebhookEndpointUpdate,
  WebhookEndpointWithSecret,
  WebhookTestResult,
} from "#api/types";
import {
  type CallOptions,
  dataOf,
  type KeyedOptions,
  toRequestOptions,
  withIdempotencyKey,
} from "./call.ts";
import { Pager } from "./pager.ts";

export class WebhookEndpoints {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Creates an endpoint. The result has its `secret` for `verifyWebhook`, shown only once. */
  create(
    endpoint: WebhookEndpointRequest,
    options?: KeyedOptions,
  ): Promise<WebhookEndpointWithSecret> {
    return dataOf(
      createWebhookEndpoint({
        client: this.#client,
        body: endpoint,
        ...withIdempotencyKey(options),
      }),
    );
  }

  list(
    query: ListWebhookEndpointsData["query"] = {},
    options?: CallOptions,
  ): Pager<WebhookEndpoint> {
    const { cursor: first, ...filter } = query;
    return new Pager((cursor = first) =>
      listWebhookEndpoints({
        client: this.#client,
        query: { ...filter, cursor },
        ...toRequestOptions(options),
      })
    );
  }

  get(id: string, options?: CallOptions): Promise<WebhookEndpoint> {
    return dataOf(
      getWebhookEndpoint({ client: this.#client, path: { pk: id }, ...toRequestOptions(options) }),
    );
  }

  /** Changes the given fields. */
  update(
    id: string,
    changes: WebhookEndpointUpdate,
    options?: KeyedOptions,
  ): Promise<WebhookEndpoint> {
    return dataOf(
      updateWebhookEndpoint({
        client: this.#client,
        path: { pk: id },
        body: changes,
        ...withIdempotencyKey(options),
      }),
    );
  }

  async delete(id: string, options?: KeyedOptions): Promise<void> {
    await deleteWebhookEndpoint({
      client: this.#client,
      path: { pk: id },
      ...withIdempotencyKey(options),
    });
  }

  /** Sends a `webhook_endpoint_tested` event and returns the endpoint's response. */
  test(id: string, options?: KeyedOptions): Promise<WebhookTestResult> {
    return dataOf(
      testWebhookEndpoint({
        client: this.#client,
        path: { pk: id },
        ...withIdempotencyKey(options),
      }),
    );
  }

  /** Creates a new secret. Deliveries are signed with both secrets for 24 hours. */
  rotateSecret(id: string, options?: KeyedOptions): Promise<WebhookEndpointWithSecret> {
    return dataOf(
      rotateWebhookSecret({
        client: this.#client,
        path: { pk: id },
        ...withIdempotencyKey(options),
      }),
    );
  }

  /** Deliveries to the endpoint, newest first, each with the endpoint's last response. */
  deliveries(
    id: string,
    query: ListWebhookDeliveriesData["query"] = {},
    options?: CallOptions,
  ): Pager<WebhookDelivery> {
    const { cursor: first, ...filter } = query;
    return new Pager((cursor = first) =>
      listWebhookDeliveries({
        client: this.#client,
        path: { pk: id },
        query: { ...filter, cursor },
        ...toRequestOptions(options),
      })
    );
  }

  /** Sends one delivery again. */
  resend(id: string, deliveryId: string, options?: KeyedOptions): Promise<WebhookDelivery> {
    const path = { pk: id, delivery_id: deliveryId };
    return dataOf(
      resendWebhookDelivery({ client: this.#client, path, ...withIdempotencyKey(options) }),
    );
  }
}
