/** What the page of payments says about a search: what was searched, and what can be missing. */

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
  const { fields, limit } = search;
  const none = limit === null ? searchResult.none : searchResult.noneFound;
  return (
    <>
      {isEmpty && (
        <p class="empty">
          {none(q)}{" "}
          {searchResult.searched(fields.map((field) => searchResult.fields[field]).join(", "))}
        </p>
      )}
      {limit !== null && (
        <p class="help">
          {searchResult.limits[limit](MAX_MATCHES.toLocaleString(view.language))}
        </p>
      )}
    </>
  );
};
