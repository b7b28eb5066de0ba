/** `metadata`: a JSON object of the caller, stored with a record and sent to the gateway. */

import { anyObject } from "./input_fields.ts";

/** Names that the service or the gateway uses in `metadata`. */
export const RESERVED_METADATA = [
  "payment_ref",
  "invoice_ref",
  "subscription_ref",
  "midtrans_invoice_id",
  "extra_info",
] as const;

/** Characters as JSON. The gateway accepts 16,000; the rest is for the service's own entries. */
const MAX_LENGTH = 15_000;

const MAX_DEPTH = 20;

const NAMES = RESERVED_METADATA.map((name) => `\`${name}\``).join(", ");

export const MetadataSchema = anyObject().superRefine((metadata, context) => {
  const refuse = (message: string, path: string[] = []) =>
    context.addIssue({ code: "custom", path, message });
  for (const name of RESERVED_METADATA) {
    if (Object.hasOwn(metadata, name)) refuse("is a reserved name; use another name", [name]);
  }
  // The depth comes first: the other checks recurse into every level.
  if (!isShallow(metadata)) return refuse(`must be at most ${MAX_DEPTH} levels deep`);
  if (JSON.stringify(metadata).length > MAX_LENGTH) {
    return refuse(`must be at most ${MAX_LENGTH} characters as JSON`);
  }
  if (!isStorable(metadata)) {
    refuse("must not contain NUL characters, unpaired surrogates or infinite numbers");
  }
}).openapi("Metadata", {
  description:
    "Your own data, stored with the resource: any JSON object of up to 15,000 characters (900 " +
    `bytes for a subscription) and 20 levels. Reserved names: ${NAMES}.`,
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

/** Whether PostgreSQL stores it without change. */
function isStorable(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0");
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, member]) => isStorable(name) && isStorable(member));
}
