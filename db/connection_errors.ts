/** Errors of database connections. */

import postgres from "postgres";

/** Error codes of the driver and the system for a connection that is lost or cannot be made. */
const LOST_CONNECTION = new Set([
  "CONNECT_TIMEOUT",
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
  "CONNECTION_ENDED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
]);

export function meansLostConnection(error: unknown): boolean {
  return LOST_CONNECTION.has(codeOf(error)) || /^57P0/.test(codeOf(error)) || isFatal(error);
}

/** After a fatal error, the server or pooler closes the connection. PgBouncer sends only one severity. */
function isFatal(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  return /^(FATAL|PANIC)$/.test(error.severity ?? error.severity_local);
}

/** The SQLSTATE, or the driver's or system's error code, or an empty string. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/**
 * The driver writes to a connection that was closed in the same moment, and throws outside of any promise
 * (porsager/postgres#1154). The statement still fails, at its deadline at the latest.
 */
export function isWriteAfterClose(error: unknown): boolean {
  return error instanceof TypeError && /\bnextWrite\b/.test(error.stack ?? "");
}
