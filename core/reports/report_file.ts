/** Reads a settlement or transaction report of the gateway: CSV whose columns differ by account. */

import { CsvError, parse } from "csv-parse/sync";
import type { FileLine } from "../../db/reports/reconciliation_lines.ts";
import { type FieldError, invalidField, ServiceError } from "../errors.ts";
import { MAX_AMOUNT } from "../money.ts";
import { LINE_ENDS, readText, UnreadableLine } from "./report_text.ts";

/** The columns of a report that are used, and the headers by which they are found. */
const HEADERS = {
  order_id: ["orderid", "ordernumber", "merchantorderid"],
  transaction_id: ["transactionid"],
  amount: ["grossamount", "amount", "transactionamount", "gross"],
  type: ["type", "transactiontype"],
  status: ["transactionstatus", "status"],
  refund_key: ["refundkey"],
  fee: ["fee", "totalfee", "mdr", "transactionfee"],
  net: ["netamount", "net", "settlementamount"],
  time: ["settlementtime", "settlementdate", "transactiontime", "time", "date"],
};

/** Columns of `time` that have the time of the transaction, not that of its settlement. */
const TRANSACTION_TIMES = ["transactiontime", "transactiondate"];

export interface ReportLine extends FileLine {
  /** False: `day` is null, or the day of the transaction. */
  hasSettlementDay: boolean;
  /** The columns of the file that are used; the same for each line. */
  columns: readonly ReportColumn[];
}

export { LINE_KINDS } from "../../db/reports/reconciliation_lines.ts";

export const REPORT_COLUMNS = Object.keys(HEADERS) as ReportColumn[];

export type ReportColumn = keyof typeof HEADERS;

/** Headers that the caller has named. */
export type ColumnNames = Partial<Record<ReportColumn, string>>;

/** After this many errors, the rest of the file is not read. */
const MAX_ERRORS = 20;

/**
 * Throws `validation_error` with the numbers of the invalid lines. The caller must then drop the
 * lines that it got before.
 */
export async function* readReport(
  file: ReadableStream<Uint8Array>,
  names: ColumnNames,
): AsyncGenerator<ReportLine, void> {
  const errors: FieldError[] = [];
  const fail = (line: number, message: string) => {
    errors.push({ field: `line ${line}`, message });
    if (errors.length >= MAX_ERRORS) throw invalidLines(errors);
  };
  let columns: Map<ReportColumn, number> | null = null;
  let width = 0;
  let hasSettlementTimes = false;
  let found: ReportColumn[] = [];
  try {
    for await (const { record, line } of parseFile(file)) {
      if (columns === null) {
        columns = findColumns(record, names);
        found = [...columns.keys()];
        width = record.length;
        const timeHeader = record[columns.get("time") ?? -1] ?? "";
        hasSettlementTimes = !TRANSACTION_TIMES.includes(normalize(timeHeader));
        continue;
      }
      if (record.length !== width) {
        fail(line, `has ${record.length} cells, but the header has ${width}`);
        continue;
      }
      const read = readLine(record, columns, line);
      if (typeof read === "string") fail(line, read);
      else if (errors.length === 0) {
        const hasSettlementDay = hasSettlementTimes && read.day !== null;
        yield { ...read, hasSettlementDay, columns: found };
      }
    }
  } catch (error) {
    throw asServiceError(error, errors);
  }
  if (errors.length > 0) throw invalidLines(errors);
  if (columns === null) throw invalidField("body", "is empty; send the report as CSV");
}

interface ParsedRecord {
  record: string[];
  info: { lines: number };
}

interface ParsedLine {
  record: string[];
  line: number;
}

async function* parseFile(file: ReadableStream<Uint8Array>): AsyncGenerator<ParsedLine, void> {
  const { blocks, delimiter } = await readText(file);
  const options = {
    delimiter,
    info: true,
    record_delimiter: LINE_ENDS,
    relax_column_count: true,
    skip_empty_lines: true,
  };
  for await (const { text, line } of blocks) {
    const numberOf = (lineOfBlock = 1) => line + lineOfBlock - 1;
    try {
      const records = parse(text, options) as unknown as ParsedRecord[];
      for (const { record, info } of records) {
        yield { record, line: numberOf(info.lines) };
      }
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      // The parser's message has the number of the line in the block.
      const message = `is not valid CSV: ${error.message.replace(/ at line \d+/, "")}`;
      throw new UnreadableLine(numberOf(error.lines as number | undefined), message);
    }
  }
}

function invalidLines(errors: FieldError[]): ServiceError {
  const detail = "Nothing of the file was used. " +
    errors.map(({ field, message }) => `${field} ${message}`).join("; ");
  return new ServiceError("validation_error", { detail, members: { errors } });
}

function asServiceError(error: unknown, errors: FieldError[]): unknown {
  if (error instanceof ServiceError) return error;
  if (error instanceof UnreadableLine) {
    return invalidLines([...errors, { field: `line ${error.line}`, message: error.message }]);
  }
  if (error instanceof TypeError) {
    return invalidField("body", "must be UTF-8; export the report as CSV UTF-8");
  }
  return new ServiceError("validation_error", {
    detail: "body: was incomplete. Send the request again.",
    members: { errors: [{ field: "body", message: "was incomplete" }] },
    cause: error,
  });
}

function normalize(header: string): string {
  return header.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

function findColumns(header: string[], names: ColumnNames): Map<ReportColumn, number> {
  const columns = new Map<ReportColumn, number>();
  for (const column of REPORT_COLUMNS) {
    const named = names[column];
    const found = named === undefined
      ? header.flatMap((each, index) => HEADERS[column].includes(normalize(each)) ? [index] : [])
      : header.flatMap((each, index) => each.trim() === named.trim() ? [index] : []);
    const best = named === undefined ? preferred(header, found, column) : found;
    if (best.length > 1) {
      const matching = best.map((index) => JSON.stringify(header[index])).join(" and ");
      throw invalidField("columns", `${column}: the file has several such columns, ${matching}`);
    }
    if (best.length === 1) columns.set(column, best[0]!);
    else if (named !== undefined) {
      throw invalidField("columns", `${column}: the file has no column ${JSON.stringify(named)}`);
    }
  }
  const has = (column: ReportColumn) => columns.has(column);
  if (has("amount") && (has("order_id") || has("transaction_id"))) return columns;
  const missing = has("amount") ? "order_id or transaction_id" : "amount";
  const found = header.slice(0, 30).map((each) => JSON.stringify(each.slice(0, 40))).join(", ");
  throw invalidField("columns", `name the column of ${missing}; the file has ${found}`);
}

/** A report can have a transaction time and a settlement time: the first name in `HEADERS` wins. */
function preferred(header: string[], found: number[], column: ReportColumn): number[] {
  for (const name of HEADERS[column]) {
    const same = found.filter((index) => normalize(header[index]!) === name);
    if (same.length > 0) return same;
  }
  return [];
}

/** The line, or what is wrong with it. */
function readLine(
  record: string[],
  columns: Map<ReportColumn, number>,
  line: number,
): FileLine | string {
  const cell = (column: ReportColumn) => {
    const index = columns.get(column);
    // Exports put an apostrophe before text that a spreadsheet would run.
    const text = index === undefined ? "" : record[index]!.trim().replace(/^'/, "");
    return text === "" ? null : text;
  };
  const order_id = cell("order_id");
  const transaction_id = cell("transaction_id");
  if (order_id === null && transaction_id === null) return "has no order id or transaction id";
  for (const id of [order_id, transaction_id, cell("refund_key")]) {
    if (id !== null && !PRINTABLE.test(id)) return "has an invalid id";
  }
  const [type, status] = [nameOf(cell("type")), statusOf(nameOf(cell("status")))];
  if (status !== null && !PRINTABLE.test(status)) {
    return `has an invalid status: ${shorten(cell("status"))}`;
  }
  const amount = parseCents(cell("amount"));
  if (amount === null || amount % 100 !== 0 || Math.abs(amount) > MAX_AMOUNT * 100) {
    return `has an invalid amount: ${shorten(cell("amount"))}; use whole rupiah such as 44000.00`;
  }
  const [fee, net] = [parseCents(cell("fee")), parseCents(cell("net"))];
  if (cell("fee") !== null && fee === null) return `has an invalid fee: ${shorten(cell("fee"))}`;
  if (cell("net") !== null && net === null) return `has an invalid net: ${shorten(cell("net"))}`;
  const day = cell("time") === null ? null : dayOf(cell("time")!);
  if (cell("time") !== null && day === null) {
    return `has an invalid time: ${shorten(cell("time"))}; use 2026-03-05 or 2026-03-05 10:15:00`;
  }
  if (type !== null && status !== null && kindByName(status) === null) {
    return `has an unknown status: ${shorten(cell("status"))}`;
  }
  const kind = kindOf(type, status, amount);
  if (kind === null) return `has an unknown type: ${shorten(cell("type") ?? cell("status"))}`;
  return {
    line,
    kind,
    order_id,
    transaction_id,
    refund_key: cell("refund_key"),
    // A report can have the status of a transaction as its type.
    status: status ?? (kind === "status" || PAID_STATUSES.includes(type!) ? type : null),
    amount: Math.abs(amount) / 100,
    fee_cents: fee,
    // A report can write the net amount of a refund without its sign.
    net_cents: net !== null && isTakenBack(kind) ? 0 - Math.abs(net) : net,
    day,
  };
}

/** What an id or a status may contain; PostgreSQL cannot store NUL. */
const PRINTABLE = /^[\p{L}\p{N}\p{P}\p{S} ]{1,255}$/u;

/** `Partial Refund` is `partial_refund`. */
function nameOf(text: string | null): string | null {
  return text?.toLowerCase().replaceAll(/[ -]+/g, "_") ?? null;
}

function shorten(text: string | null): string {
  return JSON.stringify((text ?? "").slice(0, 40).toWellFormed());
}

const FAILED = ["deny", "cancel", "expire", "failure"];

/** The statuses of unpaid transactions. */
const UNPAID = ["pending", "authorize", ...FAILED];

const PAID_STATUSES = ["settlement", "capture"];

const PAID = [...PAID_STATUSES, "payment", "success", "sale"];

/** Other words for the gateway's statuses. */
const STATUS_WORDS: Record<string, string> = {
  authorized: "authorize",
  canceled: "cancel",
  cancelled: "cancel",
  captured: "capture",
  denied: "deny",
  expired: "expire",
  failed: "failure",
  paid: "settlement",
  refunded: "refund",
  settled: "settlement",
};

function statusOf(name: string | null): string | null {
  return name !== null && Object.hasOwn(STATUS_WORDS, name) ? STATUS_WORDS[name]! : name;
}

/** Whether a transaction or refund with this status was not made. */
export function hasFailed(status: string | null): boolean {
  return status !== null && FAILED.includes(status);
}

function isTakenBack(kind: FileLine["kind"]): boolean {
  return kind === "refund" || kind === "chargeback";
}

/** Null: unknown. */
function kindByName(name: string): FileLine["kind"] | null {
  if (name.includes("chargeback")) return "chargeback";
  if (name.includes("refund")) return "refund";
  if (UNPAID.includes(name)) return "status";
  return PAID.includes(name) ? "settlement" : null;
}

/**
 * Null: unknown. The type of a line that is not paid can still be `Payment`, and so can that of a
 * line that takes the money back.
 */
function kindOf(
  type: string | null,
  status: string | null,
  amount: number,
): FileLine["kind"] | null {
  const name = type ?? status;
  const kind = name === null ? "settlement" : kindByName(name);
  if (kind !== "settlement") return kind;
  if (status !== null && UNPAID.includes(status)) return "status";
  if (amount >= 0) return "settlement";
  return status?.includes("chargeback") ? "chargeback" : "refund";
}

/** Reads `44000.00`, `44,000.00`, `44.000,00`, `-880.5`; null: invalid, or too many digits. */
export function parseCents(text: string | null): number | null {
  if (text === null) return null;
  const sign = text.startsWith("-") ? -1 : 1;
  const digits = text.replace(/^-/, "");
  const plain = digits.match(/^(\d{1,13})(?:[.,](\d{1,2}))?$/);
  const grouped = digits.match(/^([1-9]\d{0,2}(?:,\d{3})+)(?:\.(\d{1,2}))?$/) ??
    digits.match(/^([1-9]\d{0,2}(?:\.\d{3})+)(?:,(\d{1,2}))?$/);
  const [, whole, fraction = ""] = plain ?? grouped ?? [];
  if (whole === undefined) return null;
  const cents = Number(whole.replaceAll(/[.,]/g, "")) * 100 + Number(fraction.padEnd(2, "0"));
  return Number.isSafeInteger(cents) ? sign * cents : null;
}

const ZONE = "Asia/Jakarta";

/**
 * The day in Jakarta; null: not a time, or a year that no report has and PostgreSQL may reject. The
 * gateway's times without a zone are Jakarta times.
 */
function dayOf(text: string): string | null {
  try {
    const date = dateOf(text);
    return date === null || date.year < 1970 || date.year > 9999 ? null : date.toString();
  } catch {
    return null;
  }
}

function dateOf(text: string): Temporal.PlainDate | null {
  if (/(z|[+-]\d\d:?\d\d)$/i.test(text) && text.length > 16) {
    const iso = text.replace(" ", "T").replace(" ", "");
    return Temporal.Instant.from(iso).toZonedDateTimeISO(ZONE).toPlainDate();
  }
  if (!/^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?$/.test(text)) return null;
  return Temporal.PlainDate.from(text.slice(0, 10));
}
