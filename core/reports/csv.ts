/** Writes CSV (RFC 4180) that a spreadsheet can open without running anything in it. */

import { stringify } from "csv-stringify/sync";
import type { Cell, FileFormat } from "./file_format.ts";

/** With a byte order mark, Excel reads letters such as `é` correctly. */
export function csvFormat({ hasByteOrderMark }: { hasByteOrderMark: boolean }): FileFormat {
  const encoder = new TextEncoder();
  return {
    contentType: "text/csv; charset=utf-8; header=present",
    extension: "csv",
    async *write(columns, pages) {
      yield encoder.encode((hasByteOrderMark ? "\uFEFF" : "") + writeCsv([columns]));
      for await (const rows of pages) yield encoder.encode(writeCsv(rows));
    },
  };
}

/** Lines of a CSV file; each of them ends with CRLF. */
export function writeCsv(rows: readonly (readonly Cell[])[]): string {
  return stringify(rows.map((row) => row.map(cellText)), {
    record_delimiter: "\r\n",
    // Otherwise the library quotes only CRLF. Readers also end a row at an unquoted LF or CR, and
    // the next row could begin with a formula.
    quote_record_delimiter: true,
  });
}

function cellText(cell: Cell): string | null {
  if (cell === null) return null;
  if (typeof cell === "string") return neutralize(cell);
  return cell instanceof Date ? cell.toISOString() : String(cell);
}

/** A spreadsheet runs such a cell as a formula; some also if the first character is full-width. */
const FORMULA = /^[\s\p{Cc}]*[=+\-@＝＋－＠]|^[\t\r\n]/u;

/** Matches `FORMULA`, but is harmless: spreadsheets read it as a number or as text. */
const PHONE_OR_NUMBER = /^(\+\d[\d ]*|-\d+(\.\d+)?)$/;

/** In some countries, spreadsheets also begin a new cell after a semicolon. */
const FORMULA_AFTER_SEMICOLON = /;(?=[\s\p{Cc}]*[=+\-@＝＋－＠])/gu;

/**
 * Adds an apostrophe before text that a spreadsheet would run, and before text that begins with an
 * apostrophe. So a reader gets the original back by removing one apostrophe at the beginning,
 * unless the text has such a formula after a semicolon.
 */
export function neutralize(text: string): string {
  const isFormula = FORMULA.test(text) && !PHONE_OR_NUMBER.test(text);
  const harmless = text.replaceAll(FORMULA_AFTER_SEMICOLON, ";'");
  return isFormula || text.startsWith("'") ? `'${harmless}` : harmless;
}
