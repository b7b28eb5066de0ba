/** `metadata`: a JSON object of the caller, stored and returned with the resource. */

import { RESERVED_METADATA } from "../../core/payments/charge_input.ts";
import { anyObject } from "./fields.ts";

/** As JSON. The gateway accepts 16,000 characters; the rest is for the service's own entries. */
const MAX_LENGTH = 15_000;

const MAX_DEPTH = 20;

const NAMES = RESERVED_METADATA.map((name) => `\`${name}\``).join(", ");

export const MetadataSchema = anyObject().superRefine((metadata, context) => {
  const refuse = (message: string, path: string[] = []) =>
    context.addIssue({ code: "custom", path, message });
  for (const name of RESERVED_METADATA) {
    if (Object.hasOwn(metadata, name)) refuse("is a reserved name", [name]);
  }
  // Depth first: the checks after it are recursive.
  if (!isShallow(metadata)) return refuse(`must be at most ${MAX_DEPTH} levels deep`);
  if (JSON.stringify(metadata).length > MAX_LENGTH) {
    return refuse(`must have at most ${MAX_LENGTH} characters as JSON`);
  }
  if (!isStorable(metadata)) {
    refuse("must not contain NUL characters, lone surrogates or infinite numbers");
  }
}).openapi("Metadata", {
  description:
    "Any JSON object of up to 15,000 characters, stored and returned with the resource. " +
    `The names ${NAMES} are reserved.`,
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

/** True if PostgreSQL returns the value exactly as it was stored. */
function isStorable(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0");
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, member]) => isStorable(name) && isStorable(member));
}
