/** The filters above a list, in one row. */

import type { Child, FC } from "hono/jsx";
import { invalidField } from "../../core/errors.ts";
import { text } from "../../core/fields/input.ts";
import type { ConsoleContext } from "./base.tsx";
import type { DayRange } from "./days.ts";
import { Field } from "./fields.tsx";
import { QuickRanges } from "./quick_ranges.tsx";
import type { SignedInView } from "./session.ts";

/** As in the API. */
const FILTER_TEXT = text(300);

/** The trimmed values of these fields in the page's URL. PostgreSQL refuses some characters. */
export function readFields<const Name extends string>(
  c: ConsoleContext,
  names: readonly Name[],
): Record<Name, string> {
  const values = names.map((name) => [name, parseFilter(name, c.req.query(name)?.trim() ?? "")]);
  return Object.fromEntries(values) as Record<Name, string>;
}

function parseFilter(name: string, value: string): string {
  const parsed = FILTER_TEXT.safeParse(value);
  if (value === "" || parsed.success) return value;
  throw invalidField(name, parsed.error.issues[0]!.message);
}

/** The fields that have a value, for the link to the next page. */
export function sentFields(query: Record<string, string>): string[][] {
  return Object.entries(query).filter(([, value]) => value !== "");
}

interface FilterBarProps {
  view: SignedInView;
  path: string;
  /** The chosen days, and the other filters; null: the list has no filter by day. */
  days: DayRange & Record<string, string> | null;
  children?: Child;
}

/** The form above a list. */
export const FilterBar: FC<FilterBarProps> = ({ view, path, days, children }) => {
  const { root, words } = view;
  const linkTo = (range: DayRange) =>
    `${root}${path}?${new URLSearchParams(sentFields({ ...days, ...range }))}`;
  return (
    <>
      <form class="filters" action={root + path}>
        {children}
        {days && (
          <>
            <Field name="from" label={words.from} type="date" value={days.from} />
            <Field name="to" label={words.to} type="date" value={days.to} />
          </>
        )}
        <button type="submit">{words.filter}</button>
        <a href={root + path}>{words.reset}</a>
      </form>
      {days && <QuickRanges view={view} days={days} linkTo={linkTo} />}
    </>
  );
};
