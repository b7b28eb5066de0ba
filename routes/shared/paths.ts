/** Ids in paths. */

import { z } from "@hono/zod-openapi";
import { ServiceError } from "../../core/errors.ts";

/** Any text at first, for what is no id is 404 and not 400; `idOf` makes an id of it. */
export function pathId(description: string) {
  return z.string().openapi({
    format: "uuid",
    description,
    example: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  });
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** What cannot be an id is treated as one that nobody has. */
export function idOf(text: string): string {
  const id = text.toLowerCase();
  if (UUID.test(id)) return id;
  throw new ServiceError("not_found");
}
