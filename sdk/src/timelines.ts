/** What happened to a payment, an invoice or a subscription. */

import type { Client } from "#api/client";
import { getInvoiceTimeline, getPaymentTimeline, getSubscriptionTimeline } from "#api/sdk";
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
