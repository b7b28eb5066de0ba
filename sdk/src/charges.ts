/** Charges: how a payment starts. */

import type { Client } from "#api/client";
import { createCharge } from "#api/sdk";
import type { ChargeRequest, Job, Payment } from "#api/types";
import { answer, keyed, type KeyedOptions, respondAsync } from "./call.ts";

export class Charges {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Starts a payment; the answer has all that the customer needs to pay. */
  create(charge: ChargeRequest, options?: KeyedOptions): Promise<Payment> {
    const call = createCharge({ client: this.#client, body: charge, ...keyed(options) });
    return answer(call) as Promise<Payment>;
  }

  /** Has a job do it, without waiting for the gateway; see `jobs.wait`. */
  createAsync(charge: ChargeRequest, options?: KeyedOptions): Promise<Job> {
    const call = createCharge({ client: this.#client, body: charge, ...respondAsync(options) });
    return answer(call) as Promise<Job>;
  }
}
