/** The refunds of all payments. */

import type { Client } from "#api/client";
import { getRefund, listRefunds, markRefundDenied } from "#api/sdk";
import type { ListRefundsData, RefundDetails } from "#api/types";
import {
  type CallOptions,
  dataOf,
  type KeyedOptions,
  toRequestOptions,
  withIdempotencyKey,
} from "./call.ts";
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

  /** Ends a pending refund that the bank has refused. Staff only. */
  markDenied(id: string, options?: KeyedOptions): Promise<RefundDetails> {
    return dataOf(
      markRefundDenied({
        client: this.#client,
        path: { pk: id },
        ...withIdempotencyKey(options),
      }),
    );
  }
}
