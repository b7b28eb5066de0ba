/** Subscriptions: what the gateway charges a customer for, time and again. */

import type { Client } from "#api/client";
import {
  changeSubscription,
  createSubscription,
  getSubscription,
  listSubscriptions,
} from "#api/sdk";
import type {
  ChangeSubscriptionData,
  ListSubscriptionsData,
  Subscription,
  SubscriptionRequest,
} from "#api/types";
import { answer, type CallOptions, keyed, type KeyedOptions, plain } from "./call.ts";
import { Pager } from "./pager.ts";

export class Subscriptions {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Has the gateway charge a saved card or a linked account every day, week or month. */
  create(subscription: SubscriptionRequest, options?: KeyedOptions): Promise<Subscription> {
    return answer(
      createSubscription({ client: this.#client, body: subscription, ...keyed(options) }),
    );
  }

  /** Your subscriptions, newest first. */
  list(query: ListSubscriptionsData["query"] = {}, options?: CallOptions): Pager<Subscription> {
    const { cursor: first, ...filter } = query;
    return new Pager((cursor = first) =>
      listSubscriptions({ client: this.#client, query: { ...filter, cursor }, ...plain(options) })
    );
  }

  /** One subscription, as the service knows it. */
  get(pk: string, options?: CallOptions): Promise<Subscription> {
    return answer(getSubscription({ client: this.#client, path: { pk }, ...plain(options) }));
  }

  /** Pauses it. */
  disable(pk: string, options?: KeyedOptions): Promise<Subscription> {
    return this.#change(pk, "disable", options);
  }

  /** Goes on with one that was paused. */
  enable(pk: string, options?: KeyedOptions): Promise<Subscription> {
    return this.#change(pk, "enable", options);
  }

  /** Ends it for good. */
  cancel(pk: string, options?: KeyedOptions): Promise<Subscription> {
    return this.#change(pk, "cancel", options);
  }

  #change(
    pk: string,
    action: ChangeSubscriptionData["path"]["action_name"],
    options?: KeyedOptions,
  ): Promise<Subscription> {
    const path = { pk, action_name: action };
    return answer(changeSubscription({ client: this.#client, path, ...keyed(options) }));
  }
}
