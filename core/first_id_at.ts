/** Ids are UUIDv7: they begin with the time, and so a moment is a place among them. */

/** The smallest id that anything made at this moment, to the millisecond, can have. */
export function firstIdAt(time: Date): string {
  const hex = time.getTime().toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
