/** The payment that a path names. */

import { z } from "@hono/zod-openapi";
import { ServiceError } from "../../core/errors.ts";

export const PaymentPath = z.object({
  pk: z.string().openapi({
    format: "uuid",
    description: "The payment's `id`.",
    example: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  }),
});

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** What cannot be an id is treated as one that nobody has. */
export function paymentIdOf({ pk }: z.output<typeof PaymentPath>): string {
  const id = pk.toLowerCase();
  if (UUID.test(id)) return id;
  throw new ServiceError("not_found");
}
