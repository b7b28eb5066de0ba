/** Checks of list filters that concern several parameters. */

import { type FieldError, invalidField, ServiceError } from "../errors.ts";
import { firstIdAt } from "../ids.ts";
import type { WalkCursor } from "./page.ts";

/** Throws one `validation_error` with all errors; does nothing if there are none. */
export function refuseFilters(errors: FieldError[]): void {
  if (errors.length === 0) return;
  throw new ServiceError("validation_error", {
    detail: errors.map(({ field, message }) => `${field}: ${message}`).join("; "),
    members: { errors },
  });
}

/** Returns an error if the range ends before it begins, or is empty. */
export function checkRange<T extends Date | number | string>(
  [fromName, from]: [string, T | undefined],
  [toName, to]: [string, T | undefined],
  { isToInclusive = false } = {},
): FieldError[] {
  if (from === undefined || to === undefined || from < to) return [];
  if (!isToInclusive) return [{ field: toName, message: `must be later than ${fromName}` }];
  if (from <= to) return [];
  const less = typeof from === "number" ? "less" : "earlier";
  return [{ field: toName, message: `must not be ${less} than ${fromName}` }];
}

/**
 * `firstId`: the lowest id that a record created at `from` can have; `endId`: the same for `to`.
 */
export function idRange(
  from: Date | undefined,
  to: Date | undefined,
): { firstId?: string; endId?: string } {
  return { ...from && { firstId: firstIdAt(from) }, ...to && { endId: firstIdAt(to) } };
}

/** Rejects a cursor that belongs to a list with another sort order. */
export function checkCursor(after: WalkCursor | null, isByTime: boolean): void {
  if (after === null || isByTime === (after.at !== null)) return;
  throw invalidField("cursor", "belongs to a list with other filters; start without it");
}
