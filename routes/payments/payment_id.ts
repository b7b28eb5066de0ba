/** The payment that a path names. */

import { z } from "@hono/zod-openapi";
import { idOf, pathId } from "../shared/paths.ts";

export const PaymentPath = z.object({ pk: pathId("The payment's `id`.") });

export function paymentIdOf({ pk }: z.output<typeof PaymentPath>): string {
  return idOf(pk);
}
