/** Notifications: for staff, what the gateway told, and what came of it. */

import type { Client } from "#api/client";
import { listNotifications, replayNotification } from "#api/sdk";
import type { ListNotificationsData, Notification } from "#api/types";
import { answer, type CallOptions, plain } from "./call.ts";
import { Pager } from "./pager.ts";

export class Notifications {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** All of them, newest first. */
  list(query: ListNotificationsData["query"] = {}, options?: CallOptions): Pager<Notification> {
    const { cursor: first, ...filter } = query;
    return new Pager((cursor = first) =>
      listNotifications({ client: this.#client, query: { ...filter, cursor }, ...plain(options) })
    );
  }

  /** Asks the gateway anew about what one told, and applies the answer. */
  replay(id: string, options?: CallOptions): Promise<Notification> {
    return answer(replayNotification({ client: this.#client, path: { id }, ...plain(options) }));
  }
}
