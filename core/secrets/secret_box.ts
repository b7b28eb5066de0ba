/** Encrypts secrets that have to be stored, so that the database alone does not reveal them. */

import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

export interface SecretBox {
  /** `context` names the row: a sealed secret that is copied into another row cannot be opened. */
  seal(secret: string, context: string): string;
  /** Null if `sealed` was created with another key or another `context`, or is corrupt. */
  open(sealed: string, context: string): string | null;
}

const ALGORITHM = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Makes the derived key differ from other keys derived from the same server key. */
const PURPOSE = "payment-gateway: secrets in jobs";

/** Derives the key from the server key, which every instance has and the database does not. */
export function createSecretBox(serverKey: string): SecretBox {
  const key = Buffer.from(hkdfSync("sha256", serverKey, "", PURPOSE, 32));
  return {
    seal(secret, context) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(context));
      const encrypted = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString("base64url");
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed, "base64url");
      const iv = bytes.subarray(0, IV_BYTES);
      const tag = bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES);
      // Some implementations accept a shorter tag, which is easier to guess.
      if (tag.length < TAG_BYTES) return null;
      try {
        const decipher = createDecipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(context));
        decipher.setAuthTag(tag);
        const encrypted = bytes.subarray(IV_BYTES + TAG_BYTES);
        return Buffer.concat([decipher.update(encrypted), decipher.final()]).toString("utf8");
      } catch {
        return null;
      }
    },
  };
}
