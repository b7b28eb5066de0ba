/** What happened to a payment, a checkout, an invoice or a subscription. */

import type { Client } from "#api/client";
import {
  getCheckoutTimeline,
  getInvoiceTimeline,
  getPaymentTimeline,
  getSubscriptionTimeline,
} from "#api/sdk";
import type { Timeline } from "#api/types";
import { type CallOptions, dataOf, toRequestOptions } from "./call.ts";

export class Timelines {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** What happened to a payment. */
  payment(id: string, options?: CallOptions): Promise<Timeline> {
    return dataOf(
      getPaymentTimeline({ client: this.#client, path: { pk: id }, ...toRequestOptions(options) }),
    );
  }

  /** What happened to a checkout and its payments. */
  checkout(id: string, options?: CallOptions): Promise<Timeline> {
    return dataOf(
      getCheckoutTimeline({ client: this.#client, path: { pk: id }, ...toRequestOptions(options) }),
    );
  }

  /** What happened to an invoice and its payments. */
  invoice(id: string, options?: CallOptions): Promise<Timeline> {
    return dataOf(
      getInvoiceTimeline({ client: this.#client, path: { pk: id }, ...toRequestOptions(options) }),
    );
  }

  /** What happened to a subscription and its payments. */
  subscription(id: string, options?: CallOptions): Promise<Timeline> {
    return dataOf(
      getSubscriptionTimeline({
        client: this.#client,
        path: { pk: id },
        ...toRequestOptions(options),
      }),
    );
  }
}
