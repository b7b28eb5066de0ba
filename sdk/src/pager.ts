/** Lists, fetched page by page while you read them. */

export interface Page<T> {
  items: T[];
  /** The `cursor` of the next page; null on the last page. */
  nextCursor: string | null;
}

export type FetchPage<T> = (
  cursor: string | undefined,
) => Promise<{ data: T[]; response: Response }>;

/** `for await (const item of list)` reads all items, `list.page()` one page. */
export class Pager<T> implements AsyncIterable<T> {
  readonly #fetch: FetchPage<T>;

  constructor(fetch: FetchPage<T>) {
    this.#fetch = fetch;
  }

  /** The page at `cursor`. Default: the first page of the list. */
  async page(cursor?: string): Promise<Page<T>> {
    const { data, response } = await this.#fetch(cursor);
    return { items: data, nextCursor: nextCursor(response) };
  }

  /** All pages. */
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

/** Base for relative URLs; only the query is used. */
const ANY_ORIGIN = "http://localhost";

/** Uses only the cursor of the URL, because a proxy may have changed host and path. */
function nextCursor(response: Response): string | null {
  const url = response.headers.get("Link")?.match(/<([^>]*)>\s*;\s*rel="?next"?/)?.[1];
  return url === undefined ? null : new URL(url, ANY_ORIGIN).searchParams.get("cursor");
}
