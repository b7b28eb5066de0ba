/** Charges, which create payments. */

import type { Client } from "#api/client";
import { createCharge } from "#api/sdk";
import type { ChargeRequest, Job } from "#api/types";
import { dataOf, type KeyedOptions, withIdempotencyKey, withRespondAsync } from "./call.ts";
import type { PaymentOf, PaymentType } from "./payment_types.ts";

/** A charge of one payment type. The first part lets the compiler infer the type. */
export type ChargeOf<T extends PaymentType> =
  & { payment_type: T }
  & Extract<ChargeRequest, { payment_type: T }>;

export class Charges {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Creates a payment. The result has the payment instructions for the customer. */
  create<T extends PaymentType>(
    charge: ChargeOf<T>,
    options?: KeyedOptions,
  ): Promise<PaymentOf<T>> {
    const body = charge as ChargeRequest;
    const call = createCharge({ client: this.#client, body, ...withIdempotencyKey(options) });
    return dataOf(call) as Promise<unknown> as Promise<PaymentOf<T>>;
  }

  /** Creates the payment in a background job, without waiting for the gateway; see `jobs.wait`. */
  createAsync(charge: ChargeRequest, options?: KeyedOptions): Promise<Job> {
    const call = createCharge({ client: this.#client, body: charge, ...withRespondAsync(options) });
    return dataOf(call) as Promise<Job>;
  }
}
