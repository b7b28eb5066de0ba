/**
 * Writes an Excel workbook while its rows are read. Text is always a text cell, so that Excel
 * neither rounds a long number, nor drops a leading zero, nor runs a formula. Amounts are numbers,
 * and times are dates in WIB.
 */

import { configure, TextReader, ZipWriter } from "@zip.js/zip.js";
import { wibMilliseconds } from "../gateway/times.ts";
import type { Cell, FileFormat, Rows } from "./file_format.ts";

/** Rows of a sheet, including its header. Excel opens no larger sheet; another one continues it. */
export const MAX_SHEET_ROWS = 1_048_576;

/** Keeps the XML of a sheet below 4 GiB; above, a ZIP file needs a form that few programs read. */
const MAX_SHEET_LENGTH = 1_000_000_000;

/** Characters of a cell. Excel calls a file with longer cells damaged. */
const MAX_CELL_LENGTH = 32_767;

/** `name`: the name of the sheet. */
export function excelFormat(name: string, { maxSheetRows = MAX_SHEET_ROWS } = {}): FileFormat {
  return {
    contentType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    extension: "xlsx",
    async *write(columns, pages) {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const written = writeParts(writable, { name, columns, maxSheetRows }, pages);
      // Then reading fails with this error.
      written.catch((error) => writable.abort(error).catch(() => {}));
      yield* readable;
    },
  };
}

interface Layout {
  name: string;
  columns: readonly string[];
  maxSheetRows: number;
}

async function writeParts(
  writable: WritableStream<Uint8Array>,
  layout: Layout,
  pages: AsyncIterable<Rows>,
): Promise<void> {
  // Workers of the library would need permissions that the service does not have.
  configure({ useWebWorkers: false });
  const zip = new ZipWriter(writable, { zip64: false });
  const rows = readRows(pages);
  let sheets = 0;
  do {
    const sheet = ReadableStream.from(writeSheet(layout, rows)).pipeThrough(
      new TextEncoderStream(),
    );
    await zip.add(`xl/worksheets/sheet${++sheets}.xml`, sheet);
  } while (await rows.hasMore());
  for (const [path, xml] of Object.entries(describeWorkbook(layout.name, sheets))) {
    await zip.add(path, new TextReader(DECLARATION + xml));
  }
  await zip.close();
}

/** Rows that a sheet leaves are in the next one. */
interface RowReader {
  hasMore(): Promise<boolean>;
  /** Some of the rows that were read. */
  take(limit: number): Rows;
}

function readRows(pages: AsyncIterable<Rows>): RowReader {
  const iterator = pages[Symbol.asyncIterator]();
  let read: Rows = [];
  return {
    async hasMore() {
      while (read.length === 0) {
        const { value, done } = await iterator.next();
        if (done) return false;
        read = value;
      }
      return true;
    },
    take(limit) {
      const taken = read.slice(0, limit);
      read = read.slice(limit);
      return taken;
    },
  };
}

const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships";
const TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const CONTENT = "application/vnd.openxmlformats-officedocument.spreadsheetml";

async function* writeSheet(
  { columns, maxSheetRows }: Layout,
  rows: RowReader,
): AsyncGenerator<string, void> {
  const names = columns.map((_, index) => columnName(index));
  let count = 1;
  let length = 0;
  yield `${DECLARATION}<worksheet xmlns="${MAIN}">` +
    // The header stays visible.
    '<sheetViews><sheetView workbookViewId="0">' +
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>' +
    "</sheetView></sheetViews>" +
    `<cols><col min="1" max="${columns.length}" width="22" customWidth="1"/></cols>` +
    `<sheetData>${writeRow(names, columns, 1, STYLES.header)}`;
  while (count < maxSheetRows && length < MAX_SHEET_LENGTH && await rows.hasMore()) {
    let xml = "";
    for (const row of rows.take(maxSheetRows - count)) xml += writeRow(names, row, ++count);
    length += xml.length;
    yield xml;
  }
  yield `</sheetData><autoFilter ref="A1:${names.at(-1)}${count}"/></worksheet>`;
}

/** `A` to `Z`, then `AA`. */
function columnName(index: number): string {
  const last = String.fromCharCode(65 + index % 26);
  return index < 26 ? last : columnName(Math.floor(index / 26) - 1) + last;
}

function writeRow(
  names: readonly string[],
  cells: readonly Cell[],
  number: number,
  textStyle = STYLES.text,
): string {
  let xml = `<row r="${number}">`;
  for (const [index, cell] of cells.entries()) {
    if (cell !== null) xml += writeCell(`${names[index]}${number}`, cell, textStyle);
  }
  return `${xml}</row>`;
}

/** Indexes of `cellXfs` in the styles. */
const STYLES = { fraction: 0, header: 1, text: 2, integer: 3, time: 4, day: 5 };

function writeCell(reference: string, cell: Exclude<Cell, null>, textStyle: number): string {
  if (typeof cell === "string") {
    const text = `<is><t xml:space="preserve">${escapeText(cell)}</t></is>`;
    return `<c r="${reference}" s="${textStyle}" t="inlineStr">${text}</c>`;
  }
  if (typeof cell === "boolean") return `<c r="${reference}" t="b"><v>${cell ? 1 : 0}</v></c>`;
  const [style, value] = typeof cell === "number"
    ? [Number.isInteger(cell) ? STYLES.integer : STYLES.fraction, cell]
    : cell instanceof Date
    ? [STYLES.time, wholeSeconds(wibMilliseconds(cell)) / DAY_MS + EPOCH]
    : [STYLES.day, cell.since("1970-01-01").days + EPOCH];
  return `<c r="${reference}" s="${style}"><v>${value}</v></c>`;
}

const DAY_MS = 86_400_000;

/** The number of 1970-01-01 in Excel, which counts days. */
const EPOCH = 25_569;

/** Excel would round up a part of a second. */
function wholeSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000) * 1000;
}

/** Characters that XML does not allow, including halves of surrogate pairs. */
const NOT_IN_XML = /[^\t\n\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Most cells. The replacements below take longer than everything else that writes a row. */
const PLAIN = /^[ !#-%'-;=?-^`-~]*$/;

function escapeText(text: string): string {
  if (text.length <= MAX_CELL_LENGTH && PLAIN.test(text)) return text;
  return text.slice(0, MAX_CELL_LENGTH)
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(NOT_IN_XML, "\uFFFD")
    // Excel reads `_x0041_` as `A`.
    .replaceAll(/_(?=x[0-9A-Fa-f]{4}_)/g, "_x005F_")
    .replaceAll(/[&<>]/g, (character) => ENTITIES[character]!);
}

/** The other parts of the file, by their paths. */
function describeWorkbook(name: string, sheets: number): Record<string, string> {
  const numbers = Array.from({ length: sheets }, (_, index) => index + 1);
  const typeOf = (path: string, type: string) =>
    `<Override PartName="/xl/${path}.xml" ContentType="${CONTENT}.${type}+xml"/>`;
  const relation = (id: number | string, type: string, target: string) =>
    `<Relationship Id="rId${id}" Type="${TYPES}/${type}" Target="${target}.xml"/>`;
  const related = (relations: string) =>
    `<Relationships xmlns="${RELATIONSHIPS}">${relations}</Relationships>`;
  return {
    "xl/styles.xml": STYLE_SHEET,
    "xl/workbook.xml": `<workbook xmlns="${MAIN}" xmlns:r="${TYPES}"><sheets>${
      numbers.map((number) =>
        `<sheet name="${sheetName(name, number)}" sheetId="${number}" r:id="rId${number}"/>`
      ).join("")
    }</sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": related(
      numbers.map((number) => relation(number, "worksheet", `worksheets/sheet${number}`)).join("") +
        relation("Styles", "styles", "styles"),
    ),
    "_rels/.rels": related(relation(1, "officeDocument", "xl/workbook")),
    "[Content_Types].xml":
      `<Types xmlns="${RELATIONSHIPS.replace("relationships", "content-types")}">` +
      '<Default Extension="rels" ' +
      'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
      '<Default Extension="xml" ContentType="application/xml"/>' +
      typeOf("workbook", "sheet.main") + typeOf("styles", "styles") +
      numbers.map((number) => typeOf(`worksheets/sheet${number}`, "worksheet")).join("") +
      "</Types>",
  };
}

const MAX_SHEET_NAME = 31;

/** The name of the file's title, for further sheets with a number. */
function sheetName(title: string, number: number): string {
  const suffix = number > 1 ? ` ${number}` : "";
  // Excel refuses these characters in the name of a sheet.
  const allowed = title.replaceAll(/[[\]:*?/\\]/g, " ").replaceAll('"', "");
  return escapeText(allowed.slice(0, MAX_SHEET_NAME - suffix.length)) + suffix;
}

/** Built into Excel: 3 is `#,##0`, 4 is `#,##0.00`, 49 is text. */
const STYLE_SHEET = `<styleSheet xmlns="${MAIN}">` +
  '<numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd hh:mm:ss"/>' +
  '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd"/></numFmts>' +
  '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>' +
  '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>' +
  '<fills count="2"><fill><patternFill patternType="none"/></fill>' +
  '<fill><patternFill patternType="gray125"/></fill></fills>' +
  "<borders><border><left/><right/><top/><bottom/><diagonal/></border></borders>" +
  '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>' +
  '<cellXfs count="6">' +
  [[4, 0], [49, 1], [49, 0], [3, 0], [164, 0], [165, 0]].map(([format, font]) =>
    `<xf numFmtId="${format}" fontId="${font}" fillId="0" borderId="0" xfId="0" ` +
    'applyNumberFormat="1" applyFont="1"/>'
  ).join("") +
  "</cellXfs></styleSheet>";
