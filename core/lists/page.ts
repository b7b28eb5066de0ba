/** Reads one page of a list, and finds out whether there is a next page. */

import type { WalkCursor, WalkedPage } from "../../db/records/list_walk.ts";

export type { WalkCursor } from "../../db/records/list_walk.ts";

export interface Page<Row> {
  rows: Row[];
  /** The cursor of the next page: the id of this page's last row; null on the last page. */
  next: string | null;
}

/** Asks `list` for one row more than `limit`: that row shows whether there is another page. */
export async function readPage<Row extends { id: string }>(
  limit: number,
  list: (limit: number) => Promise<Row[]>,
): Promise<Page<Row>> {
  const found = await list(limit + 1);
  const rows = found.slice(0, limit);
  return { rows, next: found.length > limit ? rows.at(-1)!.id : null };
}

export interface FilteredPage<Row> {
  /** Fewer than the limit, or none, if few rows match; there can still be a next page. */
  rows: Row[];
  /** Where the next page starts; null on the last page. */
  next: WalkCursor | null;
}

/** Like `readPage`, for a list whose pages may end early. */
export async function readFilteredPage<Row extends { id: string }>(
  limit: number,
  list: (limit: number) => Promise<WalkedPage<Row>>,
  /** The time by which the list is sorted; null: it is sorted by id. */
  timeOf: (row: Row) => Date | null = () => null,
): Promise<FilteredPage<Row>> {
  const { rows: found, examinedTo } = await list(limit + 1);
  const rows = found.slice(0, limit);
  if (found.length <= limit) return { rows, next: examinedTo };
  const last = rows.at(-1)!;
  return { rows, next: { id: last.id, at: timeOf(last) } };
}
