/** Keeps secrets that have to be stored for a while: who has the database alone cannot read them. */

import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

export interface SecretBox {
  /** What is sealed for one thing opens for no other: whoever can write rows cannot swap them. */
  seal(secret: string, about: string): string;
  /** Null: it was sealed by another key, for something else, or is broken. */
  open(sealed: string, about: string): string | null;
}

const ALGORITHM = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** What the key is for: from the same server key nothing else gets the same one. */
const PURPOSE = "payment-gateway: secrets in jobs";

/** The server key is the one secret that every instance has and the database has not. */
export function createSecretBox(serverKey: string): SecretBox {
  const key = Buffer.from(hkdfSync("sha256", serverKey, "", PURPOSE, 32));
  return {
    seal(secret, about) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(about));
      const hidden = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), hidden]).toString("base64url");
    },
    open(sealed, about) {
      const bytes = Buffer.from(sealed, "base64url");
      const iv = bytes.subarray(0, IV_BYTES);
      const tag = bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES);
      // A shorter tag would be easier to guess, and is taken by some.
      if (tag.length < TAG_BYTES) return null;
      try {
        const decipher = createDecipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(about));
        decipher.setAuthTag(tag);
        const hidden = bytes.subarray(IV_BYTES + TAG_BYTES);
        return Buffer.concat([decipher.update(hidden), decipher.final()]).toString("utf8");
      } catch {
        return null;
      }
    },
  };
}
