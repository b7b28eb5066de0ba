/**
 * Kinds of fields in the gateway's answers. Its types wobble and its fields come and go, so none of
 * these ever fails: what is absent, null or of a wholly wrong type is null, and what comes in another
 * guise is brought into shape.
 */

import { z } from "zod";

export const text = orNull(
  z.union([z.string(), z.number().transform(String)]).transform(storable),
);
/** What names something: nothing that long is a name, and no index takes it. */
export const id = orNull(
  z.union([z.string(), z.number().transform(String)]).pipe(z.string().max(255))
    .transform(storable),
);
export const lowerCase = orNull(z.string().toLowerCase().transform(storable));
export const wholeNumber = orNull(
  z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)]).pipe(z.int()),
);
export const bool = orNull(z.boolean());
export const object = orNull(z.record(z.string(), z.unknown()));
/**
 * A decimal with two places, exactly what the gateway said; null where that cannot be had. Up to 15
 * digits a number in JSON is exact, too.
 */
export const money = orNull(
  z.union([z.string(), z.number().transform(String)]).pipe(
    z.string().regex(/^\d{1,15}(\.\d{1,2}0*)?$/).transform(twoPlaces),
  ),
);

export function orNull<T extends z.ZodType>(schema: T) {
  // Absence is no error: most fields are absent most of the time, and an error costs time to make.
  return schema.nullish().transform((value) => value ?? null).catch(null);
}

/** Items that are no such thing are left out. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.array(z.unknown()).catch([]).transform((items) =>
    items.flatMap((each) => {
      const { success, data } = item.safeParse(each);
      return success ? [data] : [];
    })
  );
}

/** NUL and half characters no database keeps; nothing of the gateway's needs them. */
function storable(value: string): string {
  return value.toWellFormed().replaceAll("\0", "");
}

function twoPlaces(value: string): string {
  const [whole, fraction = ""] = value.split(".");
  return `${whole}.${fraction.slice(0, 2).padEnd(2, "0")}`;
}
