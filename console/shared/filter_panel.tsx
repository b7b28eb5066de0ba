/** The filters of a list: reads them from the URL, shows their form and the filters in use. */

import type { Child, FC } from "hono/jsx";
import type { FieldError } from "../../core/errors.ts";
import { explainField } from "./explain.ts";
import { QuickRanges } from "./quick_ranges.tsx";
import type { SignedInView, View } from "./session.ts";

/** The filters as the URL has them; a filter can have several values. */
export type FilterValues = ReadonlyMap<string, readonly string[]>;

/** Other parameters, and empty fields of the form, are left out. */
export function readFilters(url: string, names: readonly string[]): FilterValues {
  const search = new URL(url).searchParams;
  const valuesOf = (name: string) => search.getAll(name).map((value) => value.trim());
  return new Map(
    names.map((name) => [name, valuesOf(name).filter(Boolean)] as const)
      .filter(([, values]) => values.length > 0),
  );
}

/** The parameters of a URL that shows the list with these filters, from this cursor on. */
export function filterSearch(filters: FilterValues, cursor: string | null = null): URLSearchParams {
  const search = new URLSearchParams(
    [...filters].flatMap(([name, values]) => values.map((value) => [name, value])),
  );
  if (cursor !== null) search.set("cursor", cursor);
  return search;
}

/** The filters as a query of the API; a parameter that was sent once is a string there. */
export function filterQuery(filters: FilterValues): Record<string, string | string[]> {
  return Object.fromEntries(
    [...filters].map(([name, values]) => [name, values.length === 1 ? values[0]! : [...values]]),
  );
}

interface FiltersProps {
  view: SignedInView;
  /** The path of the list in the console. */
  path: string;
  filters: FilterValues;
  labels: Record<string, string>;
  /** The names of values in the user's language, by filter. */
  names: Record<string, Record<string, string>>;
  /** What is wrong with the filters. */
  errors: FieldError[];
  /** The fields of the form. */
  children?: Child;
}

export const FilterPanel: FC<FiltersProps> = (props) => {
  const { view, path, filters, labels, names, errors, children } = props;
  const { root, words } = view;
  const inUse = [...filters].flatMap(([name, values]) =>
    values.map((value) => ({
      text: `${labels[name]}: ${names[name]?.[value] ?? value}`,
      link: `${root}${path}?${
        filterSearch(new Map([...filters, [name, values.filter((each) => each !== value)]]))
      }`,
    }))
  );
  return (
    <>
      <details id="filters" class="folded" open={errors.length > 0}>
        <summary>{words.filters}</summary>
        <form class="card" action={root + path}>
          {children}
          <div class="actions">
            <button type="submit" class="primary">{words.apply}</button>
            <a class="button" href={root + path}>{words.reset}</a>
          </div>
        </form>
      </details>
      {"from" in labels && "to" in labels && (
        <QuickRanges
          view={view}
          days={{ from: filters.get("from")?.[0] ?? "", to: filters.get("to")?.[0] ?? "" }}
          linkTo={({ from, to }) =>
            `${root}${path}?${filterSearch(new Map([...filters, ["from", [from]], ["to", [to]]]))}`}
        />
      )}
      <FiltersInUse view={view} filters={inUse} reset={root + path} />
      {errors.length > 0 && (
        <div role="alert" class="error">
          <p>{words.invalidFilter}</p>
          <ul>
            {errors.map((each) => <li>{explainField(view, each, labels)}</li>)}
          </ul>
        </div>
      )}
    </>
  );
};

interface FiltersInUseProps {
  view: View;
  /** The text of each filter, and the address of the list without it. */
  filters: { text: string; link: string }[];
  /** The address of the list without filters. */
  reset: string;
}

/** The filters in use; each has a link that removes it. */
export const FiltersInUse: FC<FiltersInUseProps> = ({ view, filters, reset }) => {
  const { words } = view;
  if (filters.length === 0) return null;
  return (
    <ul class="chosen" aria-label={words.filtersInUse}>
      {filters.map(({ text, link }) => (
        <li>
          <a href={link} aria-label={`${words.removeFilter} ${text}`}>
            {text} <span aria-hidden="true">✕</span>
          </a>
        </li>
      ))}
      <li>
        <a class="plain" href={reset}>{words.reset}</a>
      </li>
    </ul>
  );
};
