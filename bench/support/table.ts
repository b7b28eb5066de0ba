/**
 * The table at the end of `deno task bench`. Each benchmark is a process of its own, so it adds its
 * rows to a file, whose path `bench/run.ts` passes to it.
 */

export interface TableRow {
  operation: string;
  perSecond: number;
  /** Microseconds of processor time for each operation. */
  deno: number;
  postgres: number;
  /** The rate divided by that of the reference in the same run. */
  ratio: string;
  reference: string;
}

const OPTION = "--table=";

/** The option that makes a benchmark add its rows to this file. */
export function tableOption(path: string): string {
  return OPTION + path;
}

/** Does nothing if the benchmark was not started by `bench/run.ts`. */
export async function addTableRow(row: TableRow): Promise<void> {
  const path = Deno.args.find((arg) => arg.startsWith(OPTION))?.slice(OPTION.length);
  if (path) await Deno.writeTextFile(path, JSON.stringify(row) + "\n", { append: true });
}

export async function readTable(path: string): Promise<TableRow[]> {
  const text = await Deno.readTextFile(path);
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

const HEAD = ["Operation", "Per second", "Deno", "PostgreSQL", "Ratio", "Reference"];

/** In Markdown, which is also readable in a terminal. */
export function formatTable(rows: readonly TableRow[]): string {
  const cells = rows.map((row) => [
    row.operation,
    Math.round(row.perSecond).toLocaleString("en"),
    microseconds(row.deno),
    microseconds(row.postgres),
    row.ratio,
    row.reference,
  ]);
  const widths = HEAD.map((_, column) =>
    Math.max(...[HEAD, ...cells].map((line) => line[column]!.length))
  );
  const format = (line: readonly string[]) =>
    `| ${line.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |\n`;
  return [HEAD, widths.map((width) => "-".repeat(width)), ...cells].map(format).join("");
}

function microseconds(time: number): string {
  return `${Math.round(time).toLocaleString("en")} µs`;
}
