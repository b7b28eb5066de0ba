/** Fields of filters and forms, and the filters of a list in its URL. */

import type { FC } from "hono/jsx";
import type { z } from "@hono/zod-openapi";
import { type FieldError, ServiceError } from "../core/errors.ts";
import type { View } from "./session.ts";

interface FieldProps {
  name: string;
  label: string;
  value: string;
  type?: string;
  error?: string;
  help?: string;
  isRequired?: boolean;
  maxLength?: number;
  /** The earliest day of a date. */
  min?: string;
  /** Which keyboard a phone shows. */
  inputMode?: "numeric" | "tel" | "email";
}

/** A field with its label, its help and its error. */
export const Field: FC<FieldProps> = (props) => {
  const { name, label, value, type = "text", error, help, isRequired } = props;
  const described = [help && `${name}-help`, error && `${name}-error`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        type={type}
        value={value}
        required={isRequired}
        maxlength={props.maxLength}
        min={props.min}
        inputmode={props.inputMode}
        aria-invalid={error ? "true" : undefined}
        aria-describedby={described || undefined}
      />
      {error && <p id={`${name}-error`} class="field-error">{error}</p>}
      {help && <p id={`${name}-help`} class="help">{help}</p>}
    </div>
  );
};

interface ChoicesProps {
  name: string;
  label: string;
  chosen: readonly string[];
  /** The texts by value. */
  options: Record<string, string>;
}

/** Several of these values; none of them means any. */
export const Choices: FC<ChoicesProps> = ({ name, label, chosen, options }) => (
  <fieldset class="choices">
    <legend>{label}</legend>
    {Object.entries(options).map(([value, text]) => (
      <label>
        <input type="checkbox" name={name} value={value} checked={chosen.includes(value)} />
        {text}
      </label>
    ))}
  </fieldset>
);

interface ChoiceProps {
  name: string;
  label: string;
  value: string;
  options: Record<string, string>;
  /** The text of no choice. */
  any: string;
}

/** One of these values. */
export const Choice: FC<ChoiceProps> = ({ name, label, value, options, any }) => (
  <div class="field">
    <label for={name}>{label}</label>
    <select id={name} name={name}>
      <option value="">{any}</option>
      {Object.entries(options).map(([each, text]) => (
        <option value={each} selected={each === value}>{text}</option>
      ))}
    </select>
  </div>
);

/** The filters of a list as its URL has them; a filter can have several values. */
export type Filters = Map<string, string[]>;

/** Other parameters, and empty fields of the form, are left out. */
export function readFilters(url: string, names: readonly string[]): Filters {
  const search = new URL(url).searchParams;
  const filters: Filters = new Map();
  for (const name of names) {
    const values = search.getAll(name).map((value) => value.trim()).filter(Boolean);
    if (values.length > 0) filters.set(name, values);
  }
  return filters;
}

/** The URL of the same view, from the first page or from a cursor. */
export function viewUrl(path: string, filters: Filters, cursor: string | null = null): string {
  const search = new URLSearchParams(
    [...filters].flatMap(([name, values]) => values.map((value) => [name, value])),
  );
  if (cursor !== null) search.set("cursor", cursor);
  return search.size === 0 ? path : `${path}?${search}`;
}

/** The filters as a query of the API; a parameter that was sent once is a string there. */
export function toQuery(filters: Filters): Record<string, string | string[]> {
  return Object.fromEntries(
    [...filters].map(([name, values]) => [name, values.length === 1 ? values[0]! : values]),
  );
}

/** The beginning of a day in Jakarta. */
export function startOfDay(day: string): string {
  return `${day}T00:00:00+07:00`;
}

/** The beginning of the next day in Jakarta; an invalid day stays as it is, and is refused. */
export function endOfDay(day: string): string {
  const start = Date.parse(startOfDay(day));
  return Number.isNaN(start) ? day : new Date(start + 86_400_000).toISOString();
}

export function issuesOf(error: z.ZodError): FieldError[] {
  return error.issues.map(({ path, message }) => ({ field: path.join("."), message }));
}

/** The invalid fields, if the core refused the input because of them; otherwise throws again. */
export function fieldErrorsOf(thrown: unknown): FieldError[] {
  const errors = thrown instanceof ServiceError && thrown.code === "validation_error"
    ? thrown.members.errors
    : undefined;
  if (errors === undefined) throw thrown;
  return errors as FieldError[];
}

interface FilterErrorsProps {
  view: View;
  errors: FieldError[];
  /** The labels of the fields. */
  labels: Record<string, string>;
}

export const FilterErrors: FC<FilterErrorsProps> = ({ view, errors, labels }) =>
  errors.length === 0 ? null : (
    <div role="alert" class="error">
      <p>{view.words.invalidFilter}</p>
      <ul>
        {errors.map(({ field, message }) => <li>{`${labels[field] ?? field}: ${message}`}</li>)}
      </ul>
    </div>
  );
