/**
 * Describes the columns of a table once; its row type, column lists and defaults derive from that.
 */

import type { ColumnType } from "./statement.ts";

/** `T` is the type of the column's values. */
export interface Column<T, HasDefault extends boolean> {
  /** True: updates can write it. False: only the insert does. */
  isMutable: boolean;
  hasDefault: HasDefault;
  /** The value in a new row, unless the caller gives another. */
  default?: T;
}

type Columns = Record<string, Column<unknown, boolean>>;

type Name<C extends Columns> = keyof C & string;

/** A column that only the insert writes. */
export function fixed<T>(): Column<T, false>;
export function fixed<T>(defaultValue: T): Column<T, true>;
export function fixed<T>(...defaults: T[]): Column<T, boolean> {
  return { isMutable: false, hasDefault: defaults.length > 0, default: defaults[0] };
}

/** A column that updates can write. */
export function mutable<T>(): Column<T, false>;
export function mutable<T>(defaultValue: T): Column<T, true>;
export function mutable<T>(...defaults: T[]): Column<T, boolean> {
  return { isMutable: true, hasDefault: defaults.length > 0, default: defaults[0] };
}

export type RowOf<C extends Columns> = {
  [N in keyof C]: C[N] extends Column<infer T, boolean> ? T : never;
};

type Defaulted<C extends Columns> = {
  [N in keyof C]: C[N] extends Column<unknown, true> ? N : never;
}[keyof C];

/**
 * All columns. Statements list them by name. So, during a rolling deployment, this release does not
 * write columns that a newer release has added, and these get their default.
 */
export function columnNames<C extends Columns>(columns: C): Name<C>[] {
  return Object.keys(columns);
}

export function mutableNames<C extends Columns>(columns: C): Name<C>[] {
  return columnNames(columns).filter((name) => columns[name]!.isMutable);
}

export function fixedNames(columns: Columns): ReadonlySet<string> {
  return new Set(columnNames(columns).filter((name) => !columns[name]!.isMutable));
}

/** The type of each column; columns that are not in `others` are text. */
export function typesOf<C extends Columns>(
  columns: C,
  others: Partial<Record<ColumnType, Name<C>[]>>,
): Record<string, ColumnType> {
  const types: Record<string, ColumnType> = {};
  for (const name of columnNames(columns)) types[name] = "text";
  for (const [type, names] of Object.entries(others)) {
    for (const name of names) types[name] = type as ColumnType;
  }
  return types;
}

export function defaultsOf<C extends Columns>(columns: C): Pick<RowOf<C>, Defaulted<C>> {
  const defaulted = Object.entries(columns).filter(([, { hasDefault }]) => hasDefault);
  return Object.fromEntries(
    defaulted.map(([name, column]) => [name, column.default]),
  ) as Pick<RowOf<C>, Defaulted<C>>;
}

/** SQL after an insert: overwrites the mutable columns of rows that already exist. */
export function overwriteMutable(columns: Columns): string {
  const names = mutableNames(columns);
  return `
      on conflict (id) do update set (${names.join(", ")}) = row(
        ${names.map((name) => `excluded.${name}`).join(", ")})`;
}
