/** Checkouts: orders that the customer pays on a page of the service. */

import type { Client } from "#api/client";
import { cancelCheckout, createCheckout, getCheckout, listCheckouts } from "#api/sdk";
import type { Checkout, CheckoutRequest, ListCheckoutsData } from "#api/types";
import {
  type CallOptions,
  dataOf,
  type KeyedOptions,
  toRequestOptions,
  withIdempotencyKey,
} from "./call.ts";
import { type ListQuery, Pager } from "./pager.ts";

export class Checkouts {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Creates a checkout. Send the customer to its `checkout_url`. */
  create(checkout: CheckoutRequest, options?: KeyedOptions): Promise<Checkout> {
    return dataOf(
      createCheckout({ client: this.#client, body: checkout, ...withIdempotencyKey(options) }),
    );
  }

  /** Your checkouts, newest first, without links; for staff and viewers, those of all users. */
  list(query: ListQuery<ListCheckoutsData["query"]> = {}, options?: CallOptions): Pager<Checkout> {
    const { cursor: first, ...filter } = query as NonNullable<ListCheckoutsData["query"]>;
    return new Pager((cursor = first) =>
      listCheckouts({
        client: this.#client,
        query: { ...filter, cursor },
        ...toRequestOptions(options),
      })
    );
  }

  /** One checkout, with its link, its attempts and the payment that paid it. */
  get(pk: string, options?: CallOptions): Promise<Checkout> {
    return dataOf(
      getCheckout({ client: this.#client, path: { pk }, ...toRequestOptions(options) }),
    );
  }

  /** Closes the customer's attempt at the gateway, and ends the checkout. */
  cancel(pk: string, options?: KeyedOptions): Promise<Checkout> {
    return dataOf(
      cancelCheckout({ client: this.#client, path: { pk }, ...withIdempotencyKey(options) }),
    );
  }
}
