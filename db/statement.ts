/**
 * Builds a statement from parts. The parts are constants, and only parameters come from outside: the
 * same parts give the same text, whose prepared plan PostgreSQL reuses.
 */

import type { Sql } from "./database.ts";

type Table =
  | "payments"
  | "payment_items"
  | "invoices"
  | "invoice_items"
  | "subscriptions"
  | "subscription_charges"
  | "history"
  | "refunds"
  | "events"
  | "notifications"
  | "jobs"
  | "idempotency_keys";

export class Statement {
  readonly #values: unknown[] = [];

  /** Adds a parameter and returns its placeholder. */
  value(value: string | Date | null): string {
    return `$${this.#values.push(value)}`;
  }

  /** A parameter of type uuid[]. */
  ids(ids: readonly string[]): string {
    return `${this.value(`{${ids.join(",")}}`)}::text::uuid[]`;
  }

  /**
   * Rows to select from, with the columns of the table; other members are ignored, and so are those
   * not in `names`, if given. The rows are one JSON parameter, so their number does not change the text.
   */
  rows<Row extends object>(
    table: Table,
    rows: readonly Row[],
    names?: readonly (keyof Row & string)[],
  ): string {
    const json = this.value(JSON.stringify(rows.map((row) => withoutNulls(row, names))));
    return `json_populate_recordset(null::gateway.${table}, ${json}::text::json)`;
  }

  async run<Row extends object>(sql: Sql, text: string): Promise<Row[]> {
    return await sql.unsafe<Row[]>(text, this.#values as never[], { prepare: true });
  }
}

/** PostgreSQL reads a missing member as null. Half of a payment's columns are null, so this saves bytes. */
function withoutNulls<Row extends object>(
  row: Row,
  names: readonly string[] = Object.keys(row),
): object {
  const present: Record<string, unknown> = {};
  for (const name of names) {
    const value = row[name as keyof Row];
    if (value !== null) present[name] = value;
  }
  return present;
}
