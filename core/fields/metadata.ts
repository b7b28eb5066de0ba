/**
 * `metadata`: a JSON object of the caller, stored with a record. The metadata of charges and
 * subscriptions is also sent to the gateway.
 */

import { anyObject } from "./input.ts";

/** Names that the service or the gateway uses in `metadata`. */
export const RESERVED_METADATA = [
  "payment_ref",
  "invoice_ref",
  "subscription_ref",
  "midtrans_invoice_id",
  "extra_info",
] as const;

/** In characters of JSON, at most. The gateway accepts 16,000, and the service adds entries. */
const MAX_LENGTH = 15_000;

const MAX_DEPTH = 20;

const NAMES = RESERVED_METADATA.map((name) => `\`${name}\``).join(", ");

export const MetadataSchema = anyObject().superRefine((metadata, context) => {
  const refuse = (message: string, path: string[] = []) =>
    context.addIssue({ code: "custom", path, message });
  for (const name of RESERVED_METADATA) {
    if (Object.hasOwn(metadata, name)) refuse("is a reserved name; use another name", [name]);
  }
  const content = { isTooDeep: false, isStorable: true, values: 0 };
  inspect(metadata, 0, content);
  if (content.isTooDeep) return refuse(`must be at most ${MAX_DEPTH} levels deep`);
  if (content.values > MAX_VALUES || JSON.stringify(metadata).length > MAX_LENGTH) {
    return refuse(`must be at most ${MAX_LENGTH} characters as JSON`);
  }
  if (!content.isStorable) {
    refuse("must not contain NUL characters, unpaired surrogates or infinite numbers");
  }
}).openapi("Metadata", {
  description:
    "Your own data, stored with the resource: any JSON object of up to 15,000 characters (900 " +
    `bytes for a subscription) and 20 levels. Reserved names: ${NAMES}.`,
  example: { cart: "c-1893", campaign: "ramadan" },
});

/** Each value takes at least two characters: a digit and a comma. */
const MAX_VALUES = MAX_LENGTH / 2;

interface Content {
  isTooDeep: boolean;
  /** Whether PostgreSQL stores it without change. */
  isStorable: boolean;
  values: number;
}

/**
 * Reads each value once, and stops when it is clear that there are too many or they are too deep.
 */
function inspect(value: unknown, depth: number, content: Content): void {
  if (depth > MAX_DEPTH) content.isTooDeep = true;
  else if (typeof value === "string") {
    if (!isStorableText(value)) content.isStorable = false;
  } else if (typeof value === "number") {
    if (!Number.isFinite(value)) content.isStorable = false;
  } else if (typeof value === "object" && value !== null) {
    for (const name in value) {
      if (content.isTooDeep || ++content.values > MAX_VALUES) return;
      if (!isStorableText(name)) content.isStorable = false;
      inspect((value as Record<string, unknown>)[name], depth + 1, content);
    }
  }
}

function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}
