/** API keys of all users. Staff only; viewers can list them. */

import type { Client } from "#api/client";
import { createKey, deleteKey, listKeys } from "#api/sdk";
import type { ApiKey, ApiKeyRequest, ApiKeyWithSecret, ListKeysData } from "#api/types";
import {
  type CallOptions,
  dataOf,
  type KeyedOptions,
  toRequestOptions,
  withIdempotencyKey,
} from "./call.ts";
import { Pager } from "./pager.ts";

export class Keys {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Creates a key for a user or a viewer. Only this result has the `key` itself. */
  create(key: ApiKeyRequest, options?: KeyedOptions): Promise<ApiKeyWithSecret> {
    return dataOf(createKey({ client: this.#client, body: key, ...withIdempotencyKey(options) }));
  }

  /** All keys, newest first, without their secrets. */
  list(query: ListKeysData["query"] = {}, options?: CallOptions): Pager<ApiKey> {
    const { cursor: first, ...filter } = query;
    return new Pager((cursor = first) =>
      listKeys({
        client: this.#client,
        query: { ...filter, cursor },
        ...toRequestOptions(options),
      })
    );
  }

  /** Revokes a key. It stops working within 5 seconds. */
  async revoke(prefix: string, options?: KeyedOptions): Promise<void> {
    await deleteKey({ client: this.#client, path: { prefix }, ...withIdempotencyKey(options) });
  }
}
