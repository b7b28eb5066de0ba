/** `metadata`: a JSON object of the caller's own, kept and sent along. */

import { RESERVED_METADATA } from "../../core/payments/charge_input.ts";
import { anyObject } from "./fields.ts";

/** As JSON; leaves room for the service's own entries where 16,000 are taken. */
const MAX_LENGTH = 15_000;

const MAX_DEPTH = 20;

const NAMES = RESERVED_METADATA.map((name) => `\`${name}\``).join(", ");

export const MetadataSchema = anyObject().superRefine((metadata, context) => {
  const refuse = (message: string, path: string[] = []) =>
    context.addIssue({ code: "custom", path, message });
  for (const name of RESERVED_METADATA) {
    if (Object.hasOwn(metadata, name)) refuse("is a name the service needs for itself", [name]);
  }
  // First of all the depth: what comes after goes down into every level.
  if (!isShallow(metadata)) return refuse(`must be at most ${MAX_DEPTH} levels deep`);
  if (JSON.stringify(metadata).length > MAX_LENGTH) {
    return refuse(`must have at most ${MAX_LENGTH} characters as JSON`);
  }
  if (!isStorable(metadata)) {
    refuse("must hold neither NUL characters, nor half characters, nor infinite numbers");
  }
}).openapi("Metadata", {
  description: "Whatever you want to find again with it: any JSON object of up to 15,000 " +
    `characters. The names ${NAMES} are taken.`,
  example: { cart: "c-1893", campaign: "ramadan" },
});

function isShallow(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return false;
    level = level.flatMap((each) =>
      typeof each === "object" && each !== null ? Object.values(each) : []
    );
  }
  return true;
}

/** Whether it comes back from the database as it went in. */
function isStorable(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0");
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, member]) => isStorable(name) && isStorable(member));
}
