/** Lists, fetched page by page while you read them. */

import { rememberRequestId } from "./call.ts";

export interface Page<T> {
  items: T[];
  /** The `cursor` of the next page; null on the last page. */
  nextCursor: string | null;
}

/**
 * The filters of a list. A filter that takes several values also takes one value without an array.
 */
export type ListQuery<Q> = {
  [Name in keyof NonNullable<Q>]: NonNullable<Q>[Name] extends (infer Value)[] | undefined
    ? Value | Value[]
    : NonNullable<Q>[Name];
};

export type FetchPage<T> = (
  cursor: string | undefined,
) => Promise<{ data: T[]; response: Response }>;

/**
 * `for await (const item of list)` reads all items, `list.toArray(limit)` the first ones, and
 * `list.page()` one page.
 */
export class Pager<T> implements AsyncIterable<T> {
  readonly #fetch: FetchPage<T>;

  constructor(fetch: FetchPage<T>) {
    this.#fetch = fetch;
  }

  /** The page at `cursor`. Default: the first page of the list. */
  async page(cursor?: string): Promise<Page<T>> {
    const { data, response } = await this.#fetch(cursor);
    const page = { items: data, nextCursor: nextCursor(response) };
    rememberRequestId(page, response);
    return page;
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

  /** The first `limit` items, or all if there are fewer. Fetches only the pages that it needs. */
  async toArray(limit: number): Promise<T[]> {
    if (!Number.isSafeInteger(limit) || limit < 0) {
      throw new TypeError(`limit must be a whole number, 0 or more, not ${limit}`);
    }
    const items: T[] = [];
    if (limit === 0) return items;
    for await (const page of this.pages()) {
      items.push(...page.items.slice(0, limit - items.length));
      if (items.length === limit) break;
    }
    return items;
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
