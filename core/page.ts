/** Pages of a list. */

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
