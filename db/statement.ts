/**
 * A statement put together from parts, each with its values. The parts are constants and only values
 * come from outside, as parameters: a statement of the same parts is the same text, and its plan is
 * known.
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

  /** Where a value stands in the text. */
  value(value: string | Date | null): string {
    return `$${this.#values.push(value)}`;
  }

  ids(ids: readonly string[]): string {
    return `${this.value(`{${ids.join(",")}}`)}::text::uuid[]`;
  }

  /**
   * Rows to be selected from, as from the table itself; members that are no columns are left out, and
   * so are those that are not among `names`, where given. They travel as JSON: any number of them, and
   * the text stays the same.
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

/** What is absent is null, too, and half of a payment's columns mostly are. */
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
