/** Webhook endpoints: for staff, where events are sent to as they happen. */

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
import { answer, type CallOptions, plain } from "./call.ts";
import { Pager } from "./pager.ts";

export class WebhookEndpoints {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Makes one; the answer alone has the `secret` for `verifyWebhook`. */
  create(
    endpoint: WebhookEndpointRequest,
    options?: CallOptions,
  ): Promise<WebhookEndpointWithSecret> {
    return answer(
      createWebhookEndpoint({ client: this.#client, body: endpoint, ...plain(options) }),
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
        ...plain(options),
      })
    );
  }

  get(id: string, options?: CallOptions): Promise<WebhookEndpoint> {
    return answer(getWebhookEndpoint({ client: this.#client, path: { id }, ...plain(options) }));
  }

  /** Changes what is given. */
  update(
    id: string,
    changes: WebhookEndpointUpdate,
    options?: CallOptions,
  ): Promise<WebhookEndpoint> {
    return answer(
      updateWebhookEndpoint({
        client: this.#client,
        path: { id },
        body: changes,
        ...plain(options),
      }),
    );
  }

  async delete(id: string, options?: CallOptions): Promise<void> {
    await deleteWebhookEndpoint({ client: this.#client, path: { id }, ...plain(options) });
  }

  /** Sends it a `webhook_endpoint_tested` and tells how it answered. */
  test(id: string, options?: CallOptions): Promise<WebhookTestResult> {
    return answer(testWebhookEndpoint({ client: this.#client, path: { id }, ...plain(options) }));
  }

  /** Gives it another secret; what is sent is signed with both for a day. */
  rotateSecret(id: string, options?: CallOptions): Promise<WebhookEndpointWithSecret> {
    return answer(rotateWebhookSecret({ client: this.#client, path: { id }, ...plain(options) }));
  }

  /** What was sent to it, and what it answered. */
  deliveries(
    id: string,
    query: ListWebhookDeliveriesData["query"] = {},
    options?: CallOptions,
  ): Pager<WebhookDelivery> {
    const { cursor: first, ...filter } = query;
    return new Pager((cursor = first) =>
      listWebhookDeliveries({
        client: this.#client,
        path: { id },
        query: { ...filter, cursor },
        ...plain(options),
      })
    );
  }

  /** Sends one delivery again. */
  resend(id: string, deliveryId: string, options?: CallOptions): Promise<WebhookDelivery> {
    const path = { id, delivery_id: deliveryId };
    return answer(resendWebhookDelivery({ client: this.#client, path, ...plain(options) }));
  }
}
