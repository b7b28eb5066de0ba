/**
 * Checks what is always true of a record, just before the record is written. A violation is a
 * mistake in this program, or a change of the database by another one: it is logged, and nothing is
 * written.
 */

import type { Resource } from "../../db/records/records.ts";
import type { Log } from "../telemetry/log.ts";
import type { GatewayRecord, RecordKind } from "./record.ts";

/** `before`: the record that the write changes by `set`; null: the record is new. */
export function requireInvariants<R extends GatewayRecord>(
  { log }: { log: Log },
  kind: RecordKind<R>,
  record: R,
  before: R | null,
  set: Partial<R> = {},
): void {
  // Comparing all columns would take longer than all other checks.
  const changed = Object.keys(set).find((name) =>
    kind.fixed.has(name) && record[name as keyof R] !== before?.[name as keyof R]
  );
  const violation = changed ? `${changed} never changes` : kind.findViolation(record, before);
  if (violation) throw violationOf(log, kind.resource, record.id, violation);
}

/** Logs the violation, and returns the error to throw. */
export function violationOf(log: Log, resource: Resource, id: string, violation: string): Error {
  const error = new Error(
    `The ${resource} ${id} is not changed, because it is wrong: ${violation}`,
  );
  log.error("invariant_violated", error, { [`${resource}_id`]: id });
  return error;
}

/** The violation if a member that is set once gets another value; null: there is none. */
export function findReset<R>(record: R, before: R, names: readonly (keyof R & string)[]) {
  const reset = names.find((name) => before[name] !== null && record[name] !== before[name]);
  return reset ? `${reset} does not change once it is set` : null;
}
