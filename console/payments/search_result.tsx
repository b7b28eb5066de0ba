/** What the page of payments says about a search: that there are more, or what was searched. */

import type { FC } from "hono/jsx";
import { MAX_MATCHES, type SearchReport } from "../../core/payments/search.ts";
import type { View } from "../shared/session.ts";

interface SearchResultProps {
  view: View;
  q: string;
  search: SearchReport;
  isEmpty: boolean;
}

export const SearchResult: FC<SearchResultProps> = ({ view, q, search, isEmpty }) => {
  const { searchResult } = view.words.paymentsPage;
  const { fields, hasMore, isByPrefix } = search;
  const limit = MAX_MATCHES.toLocaleString(view.language);
  return (
    <>
      {isEmpty && (
        <p class="empty">
          {searchResult.none(q)}{" "}
          {searchResult.searched(fields.map((field) => searchResult.fields[field]).join(", "))}
        </p>
      )}
      {isEmpty && isByPrefix && <p class="help">{searchResult.byPrefix}</p>}
      {hasMore && <p class="help">{isEmpty ? searchResult.tooMany : searchResult.more(limit)}</p>}
    </>
  );
};
