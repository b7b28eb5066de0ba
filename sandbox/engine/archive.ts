/**
 * Keeps final records in a separate file, so that they need no memory. Each record can be found by
 * its keys, such as its order id.
 */

import { DatabaseSync, type SQLInputValue } from "node:sqlite";

export interface Archive {
  /**
   * Adds records, or replaces those with the same number. After the call, the records are on disk.
   */
  store(table: string, records: ArchivedRecord[]): void;
  get(table: string, id: string): string | undefined;
  numberOf(table: string, id: string): number | undefined;
  remove(table: string, numbers: number[]): void;
  /** Numbers of the oldest records. */
  oldest(table: string, count: number): number[];
  /** Newest first, as are the results of `find` and `search`. */
  newest(table: string): Iterable<string>;
  find(table: string, key: string): Iterable<string>;
  /**
   * Records with a key that starts with `prefix` and contains `text`; the case of `text` is
   * ignored.
   */
  search(table: string, prefix: string, text: string): Iterable<string>;
  summary(table: string): { count: number; nextNumber: number };
  /** Removes all records. */
  clear(): void;
  close(): void;
}

export interface ArchivedRecord {
  id: string;
  number: number;
  keys: string[];
  value: string;
}

/** Rows that are read at a time. */
const PAGE = 100;

const SCHEMA = `
  create table if not exists records (
    kind text, number integer, id text, value text, primary key (kind, number)
  ) without rowid;
  create unique index if not exists records_id on records (kind, id);
  create table if not exists keys (
    kind text, key text, number integer, primary key (kind, key, number)
  ) without rowid;
  create index if not exists keys_number on keys (kind, number);
`;

export function openArchive(path: string): Archive {
  const db = new DatabaseSync(path);
  try {
    // Once a record is stored here, the journal deletes its copy, so the record must be on disk.
    db.exec("pragma synchronous = full");
    db.exec(SCHEMA);
  } catch (error) {
    db.close();
    throw error;
  }
  const insert = db.prepare("insert or replace into records values (?, ?, ?, ?)");
  const insertKey = db.prepare("insert or ignore into keys values (?, ?, ?)");
  const deleteKeys = db.prepare("delete from keys where kind = ? and number = ?");
  const deleteRecord = db.prepare("delete from records where kind = ? and number = ?");
  const selectById = db.prepare("select number, value from records where kind = ? and id = ?");
  const selectOldest = db.prepare(
    "select number from records where kind = ? order by number limit ?",
  );
  const count = db.prepare(
    "select count(*) as count, max(number) as latest from records where kind = ?",
  );
  const readNewest = pageReader(db, "records found where found.kind = ?");
  // A cross join makes SQLite read `keys` first. Otherwise it could read all records.
  const keyed = `keys found cross join records on records.kind = found.kind
    and records.number = found.number where found.kind = ?`;
  const readByKey = pageReader(db, `${keyed} and found.key = ?`);
  const readByText = pageReader(
    db,
    `${keyed} and found.key between ? and ? and instr(lower(substr(found.key, ?)), ?) > 0`,
  );

  /** Commits all changes of `work`, or none of them. */
  function inTransaction(work: () => void): void {
    db.exec("begin immediate");
    try {
      work();
      db.exec("commit");
    } catch (error) {
      db.exec("rollback");
      throw error;
    }
  }

  return {
    store: (table, records) =>
      inTransaction(() => {
        for (const { id, number, keys, value } of records) {
          deleteKeys.run(table, number);
          insert.run(table, number, id, value);
          for (const key of keys) insertKey.run(table, key, number);
        }
      }),
    get: (table, id) => selectById.get(table, id)?.value as string | undefined,
    numberOf: (table, id) => selectById.get(table, id)?.number as number | undefined,
    remove: (table, numbers) =>
      inTransaction(() => {
        for (const number of numbers) {
          deleteKeys.run(table, number);
          deleteRecord.run(table, number);
        }
      }),
    oldest: (table, limit) => selectOldest.all(table, limit).map(({ number }) => number as number),
    newest: (table) => readNewest(table),
    find: (table, key) => readByKey(table, key),
    search: (table, prefix, text) =>
      readByText(table, prefix, `${prefix}\u{10ffff}`, prefix.length + 1, text.toLowerCase()),
    summary(table) {
      const row = count.get(table)!;
      const latest = row.latest as number | null;
      return { count: row.count as number, nextNumber: latest === null ? 0 : latest + 1 };
    },
    clear: () => db.exec("delete from records; delete from keys"),
    close: () => db.close(),
  };
}

/** Reads in pages, so that the archive can change while a caller iterates. */
function pageReader(db: DatabaseSync, from: string) {
  const statement = db.prepare(
    `select found.number, value from ${from} and found.number < ?
     order by found.number desc limit ${PAGE}`,
  );
  return function* (...values: SQLInputValue[]): Generator<string> {
    let before = Number.MAX_SAFE_INTEGER;
    while (true) {
      const rows = statement.all(...values, before);
      for (const { value } of rows) yield value as string;
      if (rows.length < PAGE) return;
      before = rows.at(-1)!.number as number;
    }
  };
}
