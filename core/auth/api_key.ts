/** What an API key looks like, and what is kept of it. */

import { createHash, randomBytes } from "node:crypto";

/** `gk_` and 32 random bytes in base64url. */
export const API_KEY_SHAPE = /^gk_[\w-]{43}$/;

const PREFIX_LENGTH = "gk_".length + 8;

export function generateApiKey(): string {
  return "gk_" + randomBytes(32).toString("base64url");
}

/** The part of a key that may be shown, to tell it from others. */
export function displayPrefix(key: string): string {
  return key.slice(0, PREFIX_LENGTH);
}

/** A fast hash is right here: there is nothing to guess in 32 random bytes. */
export function hashApiKey(key: string): Uint8Array {
  return createHash("sha256").update(key).digest();
}
