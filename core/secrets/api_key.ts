/** Generates API keys, and derives what is stored of a key: its hash and a prefix. */

import { createHash, randomBytes } from "node:crypto";

/** `gk_` and 32 random bytes in base64url. */
export const API_KEY_PATTERN = /^gk_[\w-]{43}$/;

export const API_KEY_PREFIX = /^gk_[\w-]{8}$/;

const PREFIX_LENGTH = "gk_".length + 8;

export function generateApiKey(): string {
  return "gk_" + randomBytes(32).toString("base64url");
}

/** The part of a key that may be shown, to identify the key. */
export function displayPrefix(key: string): string {
  return key.slice(0, PREFIX_LENGTH);
}

/** A fast hash is enough: 32 random bytes cannot be guessed. */
export function hashApiKey(key: string): Uint8Array {
  return createHash("sha256").update(key).digest();
}
