/** Reviews: decisions about card payments that fraud detection has challenged. Staff only. */

import type { Client } from "#api/client";
import { approvePayment, denyPayment } from "#api/sdk";
import type { Payment } from "#api/types";
import { dataOf, type KeyedOptions, withIdempotencyKey } from "./call.ts";

export class Reviews {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Accepts a challenged payment. `pk` is the payment's id. */
  approve(pk: string, options?: KeyedOptions): Promise<Payment> {
    return dataOf(
      approvePayment({ client: this.#client, path: { pk }, ...withIdempotencyKey(options) }),
    );
  }

  /** Rejects a challenged payment. `pk` is the payment's id. */
  deny(pk: string, options?: KeyedOptions): Promise<Payment> {
    return dataOf(
      denyPayment({ client: this.#client, path: { pk }, ...withIdempotencyKey(options) }),
    );
  }
}
