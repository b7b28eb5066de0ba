/** Errors of database connections. */

import postgres from "postgres";

/**
 * The database did not respond in time, could not be reached, or rejected the statement for now,
 * for example because it is read-only. `cause` is the error of the driver, if there is one.
 */
export class DatabaseUnavailable extends Error {
  override name = "DatabaseUnavailable";
}

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

/** After a fatal error, the connection is closed. PgBouncer sends only the localized severity. */
function isFatal(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false;
  return /^(FATAL|PANIC)$/.test(error.severity ?? error.severity_local);
}

/** Whether the server, the database or the role has as many connections as it allows. */
export function meansConnectionLimit(error: unknown): boolean {
  if (codeOf(error) === "53300") return true;
  return error instanceof Error && error.cause !== undefined && meansConnectionLimit(error.cause);
}

/** The SQLSTATE, or the driver's or system's error code, or an empty string. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/**
 * Errors that the driver throws outside of any promise that a caller waits for, when a connection
 * is lost at one of the two moments described below. The statement of the caller still fails, at
 * its deadline at the latest.
 */
export function isStrayDriverError(error: unknown): boolean {
  return isWriteAfterClose(error) || isLostTypesRequest(error);
}

/** A connection was closed at the moment when the driver wrote to it (porsager/postgres#1154). */
function isWriteAfterClose(error: unknown): boolean {
  return error instanceof TypeError && /\bnextWrite\b/.test(error.stack ?? "");
}

/** A new connection was lost while the driver read array types; the driver does not catch this. */
function isLostTypesRequest(error: unknown): boolean {
  return error instanceof Error && "query" in error && /\btyparray\b/.test(String(error.query));
}
