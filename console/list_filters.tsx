/** The filters of a list: reads them from the URL, shows their form and the filters in use. */

import type { Child, FC } from "hono/jsx";
import type { z } from "@hono/zod-openapi";
import type { FieldError } from "../core/errors.ts";
import { explainField } from "./explain.ts";
import type { View } from "./session.ts";

/** The filters as the URL has them; a filter can have several values. */
export type Filters = ReadonlyMap<string, readonly string[]>;

/** Other parameters, and empty fields of the form, are left out. */
export function readFilters(url: string, names: readonly string[]): Filters {
  const search = new URL(url).searchParams;
  const valuesOf = (name: string) => search.getAll(name).map((value) => value.trim());
  return new Map(
    names.map((name) => [name, valuesOf(name).filter(Boolean)] as const)
      .filter(([, values]) => values.length > 0),
  );
}

/** The parameters of a URL that shows the list with these filters, from this cursor on. */
export function searchOf(filters: Filters, cursor: string | null = null): URLSearchParams {
  const search = new URLSearchParams(
    [...filters].flatMap(([name, values]) => values.map((value) => [name, value])),
  );
  if (cursor !== null) search.set("cursor", cursor);
  return search;
}

/** The filters as a query of the API; a parameter that was sent once is a string there. */
export function toQuery(filters: Filters): Record<string, string | string[]> {
  return Object.fromEntries(
    [...filters].map(([name, values]) => [name, values.length === 1 ? values[0]! : [...values]]),
  );
}

/** The invalid fields of a form or a query. */
export function issuesOf(error: z.ZodError): FieldError[] {
  return error.issues.map(({ path, message }) => ({ field: path.join("."), message }));
}

interface FiltersProps {
  view: View;
  /** The path of the list in the console. */
  path: string;
  filters: Filters;
  labels: Record<string, string>;
  /** The names of values in the user's language, by filter. */
  names: Record<string, Record<string, string>>;
  /** What is wrong with the filters. */
  errors: FieldError[];
  /** The fields of the form. */
  children?: Child;
}

export const ListFilters: FC<FiltersProps> = (props) => {
  const { view, path, filters, labels, names, errors, children } = props;
  const { root, words } = view;
  const { apply, chosen, remove } = words.paymentsPage;
  const inUse = [...filters].flatMap(([name, values]) =>
    values.map((value) => ({
      text: `${labels[name]}: ${names[name]?.[value] ?? value}`,
      others: new Map([...filters, [name, values.filter((each) => each !== value)]]),
    }))
  );
  return (
    <>
      <details id="filters" class="folded" open={errors.length > 0}>
        <summary>{words.filters}</summary>
        <form class="card" action={root + path}>
          {children}
          <div class="actions">
            <button type="submit" class="primary">{apply}</button>
            <a class="button" href={root + path}>{words.reset}</a>
          </div>
        </form>
      </details>
      {inUse.length > 0 && (
        <ul class="chosen" aria-label={chosen}>
          {inUse.map(({ text, others }) => (
            <li>
              <a href={`${root}${path}?${searchOf(others)}`} aria-label={`${remove} ${text}`}>
                {text} <span aria-hidden="true">✕</span>
              </a>
            </li>
          ))}
          <li>
            <a class="plain" href={root + path}>{words.reset}</a>
          </li>
        </ul>
      )}
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
