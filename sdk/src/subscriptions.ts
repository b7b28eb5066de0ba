/** Subscriptions: recurring charges on a saved card or linked account. */

import type { Client } from "#api/client";
import {
  changeSubscription,
  checkSubscriptionStatus,
  createSubscription,
  getSubscription,
  listSubscriptions,
  updateSubscription,
} from "#api/sdk";
import type {
  ChangeSubscriptionData,
  ListSubscriptionsData,
  Subscription,
  SubscriptionRequest,
  SubscriptionStatusCheck,
  SubscriptionUpdate,
} from "#api/types";
import {
  type CallOptions,
  dataOf,
  type KeyedOptions,
  toRequestOptions,
  withIdempotencyKey,
} from "./call.ts";
import { type ListQuery, Pager } from "./pager.ts";

export class Subscriptions {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Creates a subscription, which charges a saved card or a linked account at an interval. */
  create(
    subscription: SubscriptionRequest,
    options?: KeyedOptions,
  ): Promise<Subscription> {
    return dataOf(
      createSubscription({
        client: this.#client,
        body: subscription,
        ...withIdempotencyKey(options),
      }),
    );
  }

  /** Your subscriptions, newest first; for staff and viewers, those of all users. */
  list(
    query: ListQuery<ListSubscriptionsData["query"]> = {},
    options?: CallOptions,
  ): Pager<Subscription> {
    const { cursor: first, ...filter } = query as NonNullable<ListSubscriptionsData["query"]>;
    return new Pager((cursor = first) =>
      listSubscriptions({
        client: this.#client,
        query: { ...filter, cursor },
        ...toRequestOptions(options),
      })
    );
  }

  /** One subscription, as stored by the service. */
  get(pk: string, options?: CallOptions): Promise<Subscription> {
    return dataOf(
      getSubscription({ client: this.#client, path: { pk }, ...toRequestOptions(options) }),
    );
  }

  /** One subscription, after a check with the gateway. */
  checkStatus(pk: string, options?: CallOptions): Promise<SubscriptionStatusCheck> {
    return dataOf(
      checkSubscriptionStatus({ client: this.#client, path: { pk }, ...toRequestOptions(options) }),
    );
  }

  /** Changes the given fields for later cycles. The gateway requires the `token` each time. */
  update(pk: string, changes: SubscriptionUpdate, options?: KeyedOptions): Promise<Subscription> {
    return dataOf(
      updateSubscription({
        client: this.#client,
        path: { pk },
        body: changes,
        ...withIdempotencyKey(options),
      }),
    );
  }

  /** Pauses a subscription. */
  disable(pk: string, options?: KeyedOptions): Promise<Subscription> {
    return this.#change(pk, "disable", options);
  }

  /** Resumes a paused subscription. */
  enable(pk: string, options?: KeyedOptions): Promise<Subscription> {
    return this.#change(pk, "enable", options);
  }

  /** Cancels a subscription permanently. */
  cancel(pk: string, options?: KeyedOptions): Promise<Subscription> {
    return this.#change(pk, "cancel", options);
  }

  #change(
    pk: string,
    action: ChangeSubscriptionData["path"]["action_name"],
    options?: KeyedOptions,
  ): Promise<Subscription> {
    const path = { pk, action_name: action };
    return dataOf(
      changeSubscription({ client: this.#client, path, ...withIdempotencyKey(options) }),
    );
  }
}
