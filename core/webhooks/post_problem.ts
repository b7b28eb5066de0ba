/** Why a webhook could not be brought, in a sentence for staff. */

import { codeOf } from "../../db/database.ts";
import { NotPublic, NotResolved } from "./guarded_lookup.ts";

const MAX_DETAIL = 200;

const SENTENCES: Record<string, string> = {
  ECONNREFUSED: "The connection was refused",
  ECONNRESET: "The connection was closed before there was an answer",
  EPIPE: "The connection was closed before there was an answer",
  EHOSTUNREACH: "The host cannot be reached",
  ENETUNREACH: "The host cannot be reached",
  ETIMEDOUT: "The host cannot be reached",
};

/** The words of errors that name more than the host are left out: a URL may hold a secret. */
export function problemOf(error: unknown): string {
  if (error instanceof NotPublic) return "Resolves to an address that is not public";
  if (error instanceof NotResolved) return "The host name does not resolve";
  const code = codeOf(error);
  if (SENTENCES[code]) return SENTENCES[code];
  if (code.startsWith("HPE_")) return "The answer is not HTTP";
  const words = error instanceof Error ? printable(error.message) : "";
  if (/CERT|ISSUER|SIGNATURE/.test(code) || /certificate/i.test(words)) {
    return `The certificate is not valid: ${words}`;
  }
  if (/SSL|TLS/.test(code)) return "There is no TLS to be had";
  return code ? `The connection failed: ${code}` : "The connection failed";
}

/** A certificate says what its owner likes. */
function printable(text: string): string {
  const line = text.replace(/[\p{C}\s]+/gu, " ");
  return line.length > MAX_DETAIL ? `${line.slice(0, MAX_DETAIL)}…` : line;
}
