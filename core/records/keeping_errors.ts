/** Lets an error end a request's key as well. */

import type { GatewayPayment } from "../../db/payments.ts";
import { ServiceError } from "../errors.ts";
import { endKeyed } from "../idempotency/keys.ts";
import { replyOf } from "../idempotency/reply.ts";
import type { PaymentDeps } from "./deps.ts";
import type { Asker } from "./keyed_change.ts";
import { namingPayment } from "./problems.ts";

/** It is kept where it is certain; else another try with the key is free. */
export async function keepingErrors<T>(
  deps: PaymentDeps,
  { key }: Asker,
  payment: GatewayPayment,
  work: () => Promise<T>,
): Promise<T> {
  return await namingPayment(payment, async () => {
    try {
      return await work();
    } catch (error) {
      if (key && error instanceof ServiceError) await endKeyed(deps, key, replyOf(error));
      throw error;
    }
  });
}
