/** The values of a form that creates a record, as the user has entered them. */

import type { Form } from "./base.tsx";

/** Without spaces around it; empty if the form has no such field. */
export function readText(form: Form, name: string): string {
  const value = form[name];
  // Browsers send line breaks of a text area as CRLF.
  return typeof value === "string" ? value.replaceAll("\r\n", "\n").trim() : "";
}

/** Whole numbers, also as `75.000`; other text stays text, which the schema refuses. */
export function parseNumber(text: string): number | string | undefined {
  if (text === "") return undefined;
  const isNumber = /^\d{1,15}$/.test(text) || /^\d{1,3}(\.\d{3})+$/.test(text);
  return isNumber ? Number(text.replaceAll(".", "")) : text;
}
