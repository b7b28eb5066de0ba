/** Charges, which create payments. */

import type { Client } from "#api/client";
import { createCharge } from "#api/sdk";
import type { ChargeRequest, Job, Payment } from "#api/types";
import { dataOf, type KeyedOptions, withIdempotencyKey, withRespondAsync } from "./call.ts";

export class Charges {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Creates a payment. The result has the payment instructions for the customer. */
  create(charge: ChargeRequest, options?: KeyedOptions): Promise<Payment> {
    const call = createCharge({
      client: this.#client,
      body: charge,
      ...withIdempotencyKey(options),
    });
    return dataOf(call) as Promise<Payment>;
  }

  /** Creates the payment in a background job, without waiting for the gateway; see `jobs.wait`. */
  createAsync(charge: ChargeRequest, options?: KeyedOptions): Promise<Job> {
    const call = createCharge({ client: this.#client, body: charge, ...withRespondAsync(options) });
    return dataOf(call) as Promise<Job>;
  }
}
