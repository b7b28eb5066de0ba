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

/** How long a batch waits for a locked row. Then `batched` runs its items one by one. */
export const BATCH_LOCK_TIMEOUT = "200ms";

export interface StatementOptions {
  /** True: the statement fails if it waits longer than `BATCH_LOCK_TIMEOUT` for a locked row. */
  isBatch?: boolean;
}

export class Statement {
  readonly #values: unknown[] = [];
  readonly #isBatch: boolean;

  constructor({ isBatch = false }: StatementOptions = {}) {
    this.#isBatch = isBatch;
  }

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
    const json = this.json(rows.map((row) => withoutNulls(row, names)));
    return `json_populate_recordset(null::gateway.${table}, ${json})`;
  }

  /**
   * A parameter of type json. A batch reads the rows that it locks from such a parameter, so the lock
   * timeout is set before the first lock. It is set as by `set local`, but without a transaction block,
   * which would cost two more round trips; PostgreSQL resets it when the statement ends.
   */
  json(value: unknown): string {
    const json = `${this.value(JSON.stringify(value))}::text::json`;
    return this.#isBatch
      ? `case when set_config('lock_timeout', '${BATCH_LOCK_TIMEOUT}', true) <> '' then ${json} end`
      : json;
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
