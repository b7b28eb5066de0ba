/**
 * Import it in tests that cut database connections. Stray errors of the database driver would fail
 * the running test; the service only logs them.
 */

import { isStrayDriverError } from "../../../db/connection/errors.ts";

globalThis.addEventListener("unhandledrejection", (event) => {
  if (isStrayDriverError(event.reason)) event.preventDefault();
});
globalThis.addEventListener("error", (event) => {
  if (isStrayDriverError(event.error)) event.preventDefault();
});
