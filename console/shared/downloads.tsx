/** Downloads of files: Excel for people, CSV for programs. */

import type { FC } from "hono/jsx";
import { csvFormat } from "../../core/reports/csv.ts";
import type { Exports, ExportSource } from "../../core/reports/export_stream.ts";
import type { Cell, Rows } from "../../core/reports/file_format.ts";
import { excelFormat, MAX_SHEET_ROWS } from "../../core/reports/xlsx.ts";
import { sendFile } from "../../http/exports.ts";
import type { ConsoleContext } from "./base.tsx";
import type { SignedInView, View } from "./session.ts";

interface ExportProps {
  view: SignedInView;
  /** The path of the list in the console, such as `/refunds/`. */
  path: string;
  /** The filters of the list. */
  search: URLSearchParams;
}

/** Downloads the list as a file. */
export const ExportLink: FC<ExportProps> = ({ view, path, search }) => {
  const address = `${view.root}${path}export/`;
  const excel = new URLSearchParams([...search, ["format", "xlsx"]]);
  const zones = { excel: "WIB", csv: "UTC" };
  return (
    <ExportMenu
      view={view}
      excel={`${address}?${excel}`}
      csv={`${address}?${search}`}
      {...{ zones }}
    />
  );
};

interface MenuProps {
  view: View;
  /** The addresses of the files. */
  excel: string;
  csv: string;
  /** The time zones of the files; null: they have no times. */
  zones: { excel: string; csv: string } | null;
}

/** Says what the files have before one is chosen. */
export const ExportMenu: FC<MenuProps> = ({ view: { words }, excel, csv, zones }) => (
  <details class="export">
    <summary class="button">{words.export}</summary>
    <ul class="card">
      <li>
        <a href={excel} download="">{words.exportExcel}</a>
        <small>{words.excelHelp(MAX_SHEET_ROWS.toLocaleString(words.locale), zones?.excel)}</small>
      </li>
      <li>
        <a href={csv} download="">{words.exportCsv}</a>
        <small>{words.csvHelp(zones?.csv)}</small>
      </li>
    </ul>
  </details>
);

interface ListFiles<Cursor> {
  /** The file name without its extension. */
  name: string;
  /** The name of the sheet in the Excel file, in the user's language. */
  title: string;
  excel: ExportSource<Cursor>;
  csv: ExportSource<Cursor>;
}

/** Sends the chosen file of a list. */
export async function sendList<Cursor>(
  c: ConsoleContext,
  exports: Exports,
  { name, title, excel, csv }: ListFiles<Cursor>,
): Promise<Response> {
  return c.req.query("format") === "xlsx"
    ? await sendFile(c, exports, name, excel, excelFormat(title))
    : await sendFile(c, exports, name, csv, csvFormat({ hasByteOrderMark: true }));
}

export function sendCsv(c: ConsoleContext, name: string, text: string): Response {
  return c.body(text, 200, {
    "Content-Type": "text/csv; charset=utf-8; header=present",
    "Content-Disposition": `attachment; filename="${fileName(name)}.csv"`,
  });
}

/** For a table that is in memory. */
export function sendExcel(
  c: ConsoleContext,
  name: string,
  { title, columns, rows }: { title: string; columns: readonly string[]; rows: Rows },
): Response {
  const { contentType, write } = excelFormat(title);
  const pages = ReadableStream.from([rows]);
  return c.body(ReadableStream.from(write(columns, pages)), 200, {
    "Content-Type": contentType,
    "Content-Disposition": `attachment; filename="${fileName(name)}.xlsx"`,
  });
}

function fileName(name: string): string {
  return name.replaceAll(/[^\w-]/g, "");
}

/** The cell of an amount in rupiah; fees can have hundredths. */
export function amountCell(amount: string | null): number | null {
  return amount === null ? null : Number(amount);
}

/** The cell of a time. */
export function timeCell(iso: string | null): Date | null {
  return iso === null ? null : new Date(iso);
}

/** The cell of a day such as `2026-11-16`. */
export function dayCell(day: string | null): Cell {
  return day === null ? null : Temporal.PlainDate.from(day);
}
