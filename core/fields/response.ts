/** Building blocks of response schemas, and the type of documented examples. */

import { z } from "@hono/zod-openapi";

export const nullableText = z.string().nullable();

export const id = z.uuid().openapi({
  description: "Unique identifier. Never changes.",
  example: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
});

/** The member `user_id`, which `ownerShownTo` fills. */
export function owner(record: string) {
  return nullableText.optional().openapi({
    description: `The user who owns the ${record}, in lists and in the response that reads one ` +
      `${record}, for staff and viewers; null if the ${record} was created outside the service ` +
      "and belongs to no user. Absent for other callers, and in other responses and events.",
    example: "alice",
  });
}

export function money(description?: string, example = "150000.00") {
  return z.string().regex(/^-?\d+\.\d{2}$/).openapi({ description, example });
}

export function timestamp(description?: string) {
  return z.iso.datetime().openapi({ description, example: "2026-03-05T04:12:09.000Z" });
}

/** An example in the document. An outdated one does not compile: `value` has the schema's type. */
export interface Example<T> {
  summary: string;
  value: T;
}

/** Examples by name. If operations share a name and its example, the document contains it once. */
export type Examples<T> = Record<string, Example<T>>;
