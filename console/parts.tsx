/** Parts that several pages use: labels, buttons, JSON, and the fields of filters. */

import type { Child, FC } from "hono/jsx";
import { invalidField } from "../core/errors.ts";
import type { ConsoleContext } from "./base.tsx";
import { FormToken } from "./frame.tsx";
import { Field } from "./payment_filters.tsx";
import { endOfDay } from "./payment_query.ts";
import type { SignedInView, View } from "./session.ts";

export type Tone = "good" | "wait" | "bad" | "plain";

/** A state as a coloured label. */
export const Label: FC<{ tone: Tone; children?: Child }> = ({ tone, children }) => (
  <span class={`status ${tone}`}>{children}</span>
);

interface BackLinkProps {
  view: View;
  /** The path in the console, such as `/jobs/`. */
  to: string;
  children?: Child;
}

export const BackLink: FC<BackLinkProps> = ({ view, to, children }) => (
  <p>
    <a href={view.root + to}>← {children}</a>
  </p>
);

interface ActionButtonProps {
  view: SignedInView;
  /** The path in the console that the form is sent to. */
  to: string;
  /** Further hidden fields. */
  fields?: Record<string, string>;
  children?: Child;
}

/** A form that consists of a button. Viewers do not see it. */
export const ActionButton: FC<ActionButtonProps> = ({ view, to, fields = {}, children }) => {
  if (!view.session.caller.isStaff) return null;
  return (
    <form method="post" action={view.root + to}>
      <FormToken view={view} />
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <button type="submit">{children}</button>
    </form>
  );
};

/** A page must not become too large: quotes take six characters in HTML. */
const MAX_JSON = 12_000;

/** JSON as indented text, cut off after `MAX_JSON` characters. */
export const Json: FC<{ view: View; value: unknown }> = ({ view, value }) => {
  const text = JSON.stringify(value, null, 2) ?? "";
  return (
    <>
      <pre class="json" tabindex={0}>{text.slice(0, MAX_JSON).toWellFormed()}</pre>
      {text.length > MAX_JSON && <p class="help">{view.words.eventsPage.shortened}</p>}
    </>
  );
};

/** The beginning of a text of another system, for a table. */
export function shorten(text: string, max = 160): string {
  return text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text;
}

/** Where the pages of a kind of resource are. */
const RESOURCE_PATHS = {
  payment: "/payments/",
  invoice: "/invoices/",
  subscription: "/subscriptions/",
  webhook_endpoint: "/webhooks/",
};

/** The path of a resource's page in the console, by the name of its event; null: it has none. */
export function resourcePath(eventName: string, id: string): string | null {
  const kinds = Object.keys(RESOURCE_PATHS) as (keyof typeof RESOURCE_PATHS)[];
  const kind = kinds.find((each) => eventName.startsWith(`${each}_`));
  return kind ? `${RESOURCE_PATHS[kind]}${id}/` : null;
}

/** The trimmed values of these fields in the page's URL. */
export function queryOf<const Name extends string>(
  c: ConsoleContext,
  names: readonly Name[],
): Record<Name, string> {
  const values = names.map((name) => [name, c.req.query(name)?.trim() ?? ""]);
  return Object.fromEntries(values) as Record<Name, string>;
}

/** The fields that have a value, for the link to the next page. */
export function sentFields(query: Record<string, string>): string[][] {
  return Object.entries(query).filter(([, value]) => value !== "");
}

export interface DayRange {
  /** Days in Jakarta, such as `2026-11-16`; empty: no limit. */
  from: string;
  /** Inclusive. */
  to: string;
}

/** The range as times. `created_to` is exclusive: the beginning of the day after `to`. */
export function timesOf({ from, to }: DayRange): { created_from?: Date; created_to?: Date } {
  return {
    ...from && { created_from: parseDay("from", `${from}T00:00:00+07:00`) },
    ...to && { created_to: parseDay("to", endOfDay(to)) },
  };
}

function parseDay(field: string, text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime()) || time.getTime() < 0) {
    throw invalidField(field, "must be a day such as 2026-11-16");
  }
  return time;
}

interface FiltersProps {
  view: View;
  path: string;
  /** The chosen days; null: the list has no filter by day. */
  days: DayRange | null;
  children?: Child;
}

/** The form above a list. */
export const Filters: FC<FiltersProps> = ({ view, path, days, children }) => {
  const { root, words } = view;
  return (
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
  );
};

interface SuggestingFieldProps {
  name: string;
  label: string;
  value: string;
  /** Values to choose from; others can be typed. */
  options: readonly string[];
}

export const SuggestingField: FC<SuggestingFieldProps> = ({ name, label, value, options }) => (
  <div>
    <label for={name}>{label}</label>
    <input id={name} name={name} value={value} list={`${name}-options`} autocomplete="off" />
    <datalist id={`${name}-options`}>
      {[...new Set(options)].map((option) => <option value={option}></option>)}
    </datalist>
  </div>
);
