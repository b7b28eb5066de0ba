/** Checks of list filters that concern several parameters. */

import { type FieldError, ServiceError } from "./errors.ts";

/** Throws one `validation_error` for all of these. */
export function refuseFilters(errors: FieldError[]): void {
  if (errors.length === 0) return;
  throw new ServiceError("validation_error", {
    detail: errors.map(({ field, message }) => `${field}: ${message}`).join("; "),
    members: { errors },
  });
}

/** The error if a range ends before it begins, or has no content. */
export function checkRange<T extends Date | number | string>(
  [fromName, from]: [string, T | undefined],
  [toName, to]: [string, T | undefined],
  { isToInclusive = false } = {},
): FieldError[] {
  if (from === undefined || to === undefined || from < to) return [];
  if (isToInclusive && Number(from) === Number(to)) return [];
  return [{
    field: toName,
    message: isToInclusive ? `must not be less than ${fromName}` : `must be later than ${fromName}`,
  }];
}
