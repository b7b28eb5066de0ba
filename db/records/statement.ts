/**
 * Builds a statement from parts. The parts are constants, and only parameters have data: so the
 * same parts give the same text, and PostgreSQL reuses its prepared plan.
 */

import type { Sql } from "../connection/database.ts";
import { isoTime } from "./iso_time.ts";

type Table =
  | "payments"
  | "payment_items"
  | "invoices"
  | "invoice_items"
  | "subscriptions"
  | "subscription_charges"
  | "checkouts"
  | "checkout_attempts"
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

/**
 * The PostgreSQL types of columns that `arrays` can send. A `text[]` is sent as text, which the
 * statement must cast, because PostgreSQL has no arrays of arrays.
 */
export type ColumnType = "uuid" | "text" | "text[]" | "integer" | "bigint" | "timestamptz" | "json";

type Scalar = string | number | Date | null;

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
   * Rows to select from, with the columns of the table. Members that are not columns are ignored.
   * If `names` is given, only these members are sent. The rows are one JSON parameter, so their
   * number does not change the text.
   */
  rows<Row extends object>(
    table: Table,
    rows: readonly Row[],
    names?: readonly (keyof Row & string)[],
  ): string {
    const json = this.json(rows.map((row) => toJsonRow(row, names)));
    return `json_populate_recordset(null::gateway.${table}, ${json})`;
  }

  /** A parameter of type json. */
  json(value: unknown): string {
    return this.#limitLockTime(`${this.value(JSON.stringify(value))}::text::json`);
  }

  /**
   * Sets the lock timeout when the parameter is read, which is before the first lock: a batch finds
   * the rows that it locks by its parameters. It is set as by `set local`, but without a
   * transaction block, which would cost two more round trips; PostgreSQL resets it when the
   * statement ends.
   */
  #limitLockTime(parameter: string): string {
    return this.#isBatch
      ? `case when set_config('lock_timeout', '${BATCH_LOCK_TIMEOUT}', true) <> '' then ${parameter} end`
      : parameter;
  }

  /**
   * Rows to select from, with these columns. Each column is one array parameter: building and
   * reading these takes less than half the time of JSON rows, so frequent statements use them.
   */
  arrays<Row extends object>(
    rows: readonly Row[],
    types: { readonly [Name in keyof Row & string]?: ColumnType },
  ): string {
    const names = Object.keys(types) as (keyof Row & string)[];
    const sources = names.map((name, index) => {
      const values = rows.map((row) => row[name]);
      const type = types[name]!;
      if (type === "json") return `json_array_elements(${this.json(values)})`;
      const array = this.#array(values as Scalar[], type);
      return `unnest(${index === 0 ? this.#limitLockTime(array) : array})`;
    });
    return `rows from (${sources.join(", ")}) as sent (${names.join(", ")})`;
  }

  #array(values: readonly Scalar[], type: ColumnType): string {
    if (type === "text[]") {
      return this.#array((values as unknown as string[][]).map(listOf), "text");
    }
    const literal = `{${values.map(type === "text" ? quoted : unquoted).join(",")}}`;
    return `${this.value(literal)}::text::${type}[]`;
  }

  async run<Row extends object>(sql: Sql, text: string): Promise<Row[]> {
    return await sql.unsafe<Row[]>(text, this.#values as never[], { prepare: true });
  }
}

function listOf(texts: string[]): string {
  return `{${texts.map(quoted).join(",")}}`;
}

/** An element of an array literal. */
function quoted(text: Scalar): string {
  if (text === null) return "null";
  return `"${(text as string).replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** An id, a number or a time, which needs no quotes. */
function unquoted(value: Scalar): string {
  if (value === null) return "null";
  return value instanceof Date ? isoTime(value) : String(value);
}

/**
 * PostgreSQL reads a missing member as null. Half of a payment's columns are null, so this saves
 * bytes.
 */
function toJsonRow<Row extends object>(
  row: Row,
  names: readonly string[] = Object.keys(row),
): object {
  const present: Record<string, unknown> = {};
  for (const name of names) {
    const value = row[name as keyof Row];
    if (value !== null) present[name] = value instanceof Date ? isoTime(value) : value;
  }
  return present;
}
