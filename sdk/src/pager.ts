/** A list of any length, fetched a page at a time as it is read. */

export interface Page<T> {
  items: T[];
  /** Where the next page begins: the `cursor` to ask for it with; null on the last one. */
  nextCursor: string | null;
}

export type FetchPage<T> = (
  cursor: string | undefined,
) => Promise<{ data: T[]; response: Response }>;

/** `for await (const item of list)` has all items, `list.page()` the first page alone. */
export class Pager<T> implements AsyncIterable<T> {
  readonly #fetch: FetchPage<T>;

  constructor(fetch: FetchPage<T>) {
    this.#fetch = fetch;
  }

  /** The page at `cursor`; without one, the first page that the list was asked for. */
  async page(cursor?: string): Promise<Page<T>> {
    const { data, response } = await this.#fetch(cursor);
    return { items: data, nextCursor: nextCursor(response) };
  }

  /** All of it, page by page. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let cursor: string | undefined;
    do {
      const page: Page<T> = await this.page(cursor);
      yield page;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { items } of this.pages()) yield* items;
  }
}

/** Addresses may be relative, and a made-up answer comes from nowhere. */
const ANYWHERE = "http://localhost";

/** Of the next page's address only the cursor counts: a proxy may have put the rest elsewhere. */
function nextCursor(response: Response): string | null {
  const address = response.headers.get("Link")?.match(/<([^>]*)>\s*;\s*rel="?next"?/)?.[1];
  return address === undefined ? null : new URL(address, ANYWHERE).searchParams.get("cursor");
}
