/** Notifications from the gateway. Staff and viewers can read them, staff can replay them. */

import type { Client } from "#api/client";
import { getNotification, listNotifications, replayNotification } from "#api/sdk";
import type { ListNotificationsData, Notification } from "#api/types";
import {
  type CallOptions,
  dataOf,
  type KeyedOptions,
  toRequestOptions,
  withIdempotencyKey,
} from "./call.ts";
import { type ListQuery, Pager } from "./pager.ts";

export class Notifications {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** All notifications, newest first. */
  list(
    query: ListQuery<ListNotificationsData["query"]> = {},
    options?: CallOptions,
  ): Pager<Notification> {
    const { cursor: first, ...filter } = query as NonNullable<ListNotificationsData["query"]>;
    return new Pager((cursor = first) =>
      listNotifications({
        client: this.#client,
        query: { ...filter, cursor },
        ...toRequestOptions(options),
      })
    );
  }

  get(id: string, options?: CallOptions): Promise<Notification> {
    return dataOf(
      getNotification({ client: this.#client, path: { pk: id }, ...toRequestOptions(options) }),
    );
  }

  /** Checks a notification with the gateway again, and applies the result. */
  replay(id: string, options?: KeyedOptions): Promise<Notification> {
    return dataOf(
      replayNotification({
        client: this.#client,
        path: { pk: id },
        ...withIdempotencyKey(options),
      }),
    );
  }
}
