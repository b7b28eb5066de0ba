/**
 * Errors of forms and actions: the invalid fields, and what to do next, in the language of the
 * page.
 */

import type { z } from "@hono/zod-openapi";
import { ERROR_CODES, type ErrorCode, type FieldError, ServiceError } from "../../core/errors.ts";
import { WITH_DETAIL } from "../words/problems.ts";
import type { Words } from "../words/words.ts";

/** A problem that the console itself has found. Its detail is in the language of the page. */
export class ConsoleProblem extends ServiceError {
  override name = "ConsoleProblem";
}

/** A page, of which only the language matters here. */
interface Page {
  words: Words;
}

/** The names of fields on the page. */
export type FieldLabels = Readonly<Record<string, string>>;

export function explain(
  page: Page,
  error: ServiceError,
  labels: FieldLabels = {},
): string {
  const { words } = page;
  const { code, detail, members, message } = error;
  if (error instanceof ConsoleProblem) return message;
  if (members.has_changed) return words.recordChanged;
  if (members.errors) {
    return (members.errors as FieldError[]).map((each) => explainField(page, each, labels))
      .join("; ");
  }
  const texts: Partial<Record<ErrorCode, string>> = words.problems.texts;
  const text = texts[code];
  if (text === undefined) return detail ?? ERROR_CODES[code].title;
  return detail !== null && WITH_DETAIL.has(code) ? `${text} ${words.message(detail)}` : text;
}

/** An invalid field with its name, for a message that is not shown at the field. */
export function explainField(
  { words }: Page,
  { field, message }: FieldError,
  labels: FieldLabels,
): string {
  return `${labels[field] ?? words.message(field)}: ${words.message(message)}`;
}

/** The invalid fields of a form or a query. */
export function issuesOf(error: z.ZodError): FieldError[] {
  return error.issues.map(({ path, message }) => ({ field: path.join("."), message }));
}

/** The errors of filters that the core refuses, such as an amount without a range of time. */
export function errorsOf(thrown: unknown): FieldError[] {
  if (!(thrown instanceof ServiceError) || thrown.code !== "validation_error") throw thrown;
  return thrown.members.errors as FieldError[];
}
