/**
 * Links to the pages for customers. A link contains a token: what it leads to, the id, and a code
 * that only this installation can compute. The secret is kept in the database, so a new key of the
 * gateway breaks no link. Derived ids depend on it, too (`derived_ids.ts`).
 */

import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import { parse, stringify } from "uuid";

const KINDS = { checkout: 1, payment: 2 } as const;

export type LinkKind = keyof typeof KINDS;

export interface LinkTarget {
  kind: LinkKind;
  id: string;
}

export interface Links {
  /** The address of the page; null: the service does not know its own address (`PUBLIC_URL`). */
  url(target: LinkTarget): string | null;
  /** Null: no link of this installation has this token. */
  read(token: string): LinkTarget | null;
  /** The public address of this service, without a slash at the end; null: unknown. */
  publicUrl(): string | null;
}

/** The length of the code: 128 bits cannot be guessed. */
const CODE_BYTES = 16;
const ID_BYTES = 16;

/** `publicUrl` is a function, because a free port is known only after the service listens. */
export function createLinks(secret: Uint8Array, publicUrl: () => string | null): Links {
  const codeOf = (message: Uint8Array) =>
    createHmac("sha256", secret).update(message).digest().subarray(0, CODE_BYTES);
  return {
    publicUrl,
    url({ kind, id }) {
      const base = publicUrl();
      if (base === null) return null;
      const message = Buffer.concat([Buffer.from([KINDS[kind]]), parse(id)]);
      const token = Buffer.concat([message, codeOf(message)]).toString("base64url");
      return `${base}/pay/${token}`;
    },
    read(token) {
      if (!/^[\w-]{44}$/.test(token)) return null;
      const bytes = Buffer.from(token, "base64url");
      const message = bytes.subarray(0, 1 + ID_BYTES);
      const kind = (Object.keys(KINDS) as LinkKind[]).find((each) => KINDS[each] === message[0]);
      const code = bytes.subarray(1 + ID_BYTES);
      if (!kind || code.length !== CODE_BYTES) return null;
      return timingSafeEqual(code, codeOf(message))
        ? { kind, id: stringify(message.subarray(1)) }
        : null;
    },
  };
}
