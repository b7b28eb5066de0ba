/** The refunds of all payments. */

import type { Client } from "#api/client";
import { getRefund, listRefunds } from "#api/sdk";
import type { ListRefundsData, RefundDetails } from "#api/types";
import { type CallOptions, dataOf, toRequestOptions } from "./call.ts";
import { Pager } from "./pager.ts";

export class Refunds {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Your refunds, newest first; for staff and viewers, those of all users. */
  list(query: ListRefundsData["query"] = {}, options?: CallOptions): Pager<RefundDetails> {
    const { cursor: first, ...filter } = query;
    return new Pager((cursor = first) =>
      listRefunds({
        client: this.#client,
        query: { ...filter, cursor },
        ...toRequestOptions(options),
      })
    );
  }

  /** One refund. */
  get(id: string, options?: CallOptions): Promise<RefundDetails> {
    return dataOf(
      getRefund({ client: this.#client, path: { pk: id }, ...toRequestOptions(options) }),
    );
  }
}
