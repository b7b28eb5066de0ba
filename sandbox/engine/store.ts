/**
 * The records of the sandbox, in an SQLite database: a file, or memory. Each kind of record has a
 * table, and a table of the keys by which its records are found, such as an order id.
 */

import { setImmediate } from "node:timers";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

export interface Store {
  table<T extends Stored>(name: string, options?: TableOptions<T>): Table<T>;
  /** Resolves when all changes so far are in the file; rejects if they were rolled back. */
  committed(): Promise<void>;
  /** Called before each commit; may make changes that become part of it. */
  beforeCommit: () => void;
  /** Called after the first commit that succeeds after a rollback. */
  onRecovery: () => void;
  close(): void;
}

export interface Stored {
  id: string;
}

export interface Table<T extends Stored> {
  get(id: string): T | undefined;
  /** Adds a record, or replaces the record with the same id, which keeps its place. */
  put(record: T): T;
  delete(id: string): void;
  /** Newest first, as are the results of `find` and `search`. */
  newest(): Iterable<T>;
  /** Records that have this key. */
  find(key: string): Iterable<T>;
  /**
   * Records with a key that starts with `prefix` and contains `text`; the case of `text` is
   * ignored.
   */
  search(prefix: string, text: string): Iterable<T>;
  readonly size: number;
}

export interface TableOptions<T extends Stored> {
  /** Texts by which `find` finds a record, such as `order:A-1`. */
  keysOf?: (record: T) => string[];
  onPut?: (record: T) => void;
  /** If there are more final records than `max`, those that became final first are deleted. */
  final?: { isFinal: (record: T) => boolean; max: number };
}

/** The state file cannot be used. The message says why and what to do. */
export class StateFileError extends Error {
  override name = "StateFileError";
}

/** Describes why the state file cannot be opened or read. */
export function stateFileError(path: string, cause: unknown): StateFileError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StateFileError(
    reason === "database is locked"
      ? `Another sandbox is using ${path}. Stop it, or choose another file.`
      : `The sandbox cannot read its state in ${path} (${reason}). Delete the file to start fresh, or choose another file.`,
    { cause },
  );
}

interface Row {
  number: number;
  value: string;
}

/** Rows that are read at a time. */
const PAGE = 100;

/** `onError` receives the error of each failed commit, in addition to callers of `committed`. */
export function openStore(path: string | null, onError: (error: unknown) => void): Store {
  const db = openDatabase(path);
  let transaction: PromiseWithResolvers<void> | null = null;
  let hasRolledBack = false;

  /**
   * The changes of one turn of the event loop are one transaction. An operation makes all its
   * changes in one turn, and concurrent requests share a commit.
   */
  function beginTransaction() {
    if (transaction) return;
    db.exec("begin");
    transaction = Promise.withResolvers();
    transaction.promise.catch(onError);
    setImmediate(commit);
  }

  function commit() {
    if (!transaction) return;
    const { resolve, reject } = transaction;
    try {
      store.beforeCommit();
      db.exec("commit");
    } catch (error) {
      transaction = null;
      rollBack();
      const reason = error instanceof Error ? error.message : String(error);
      const message = `The latest changes could not be written to ${path} (${reason}).`;
      return reject(new StateFileError(message, { cause: error }));
    }
    transaction = null;
    resolve();
    if (!hasRolledBack) return;
    hasRolledBack = false;
    store.onRecovery();
  }

  function rollBack() {
    hasRolledBack = true;
    try {
      db.exec("rollback");
    } catch {
      // After some errors, such as a full disk, SQLite has already rolled back.
    }
  }

  const store: Store = {
    table: (name, options = {}) => openTable(db, name, options, beginTransaction),
    committed: () => transaction?.promise ?? Promise.resolve(),
    beforeCommit: () => {},
    onRecovery: () => {},
    close() {
      commit();
      if (db.isOpen) db.close();
    },
  };
  return store;
}

function openDatabase(path: string | null): DatabaseSync {
  const db = new DatabaseSync(path ?? ":memory:");
  try {
    // Two sandboxes with one file would repeat each other's ids.
    db.exec("pragma locking_mode = exclusive");
    // A commit does not wait for the disk: it survives the end of the process, and a power failure
    // can only lose the latest commits.
    db.exec("pragma journal_mode = wal; pragma synchronous = normal");
    // Takes the lock.
    db.exec("begin immediate; commit");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function openTable<T extends Stored>(
  db: DatabaseSync,
  name: string,
  { keysOf = () => [], onPut = () => {}, final }: TableOptions<T>,
  beginTransaction: () => void,
): Table<T> {
  const statements = prepareStatements<T>(db, name);
  /** Numbers the final records in the order in which they became final. */
  let finals = (statements.latestFinal.get()!.latest ?? 0) as number;

  function select(id: string): Row | undefined {
    return statements.selectById.get(id) as Row | undefined;
  }

  function put(record: T): T {
    beginTransaction();
    const known = select(record.id);
    const value = JSON.stringify(record);
    const finalNumber = final?.isFinal(record) ? ++finals : null;
    const keys = new Set(keysOf(record));
    if (known) {
      statements.update.run(value, finalNumber, known.number);
      for (const key of new Set(keysOf(JSON.parse(known.value)))) {
        if (!keys.delete(key)) statements.deleteKey.run(key, known.number);
      }
    }
    const number = known?.number ??
      statements.insert.run(value, finalNumber, record.id).lastInsertRowid;
    for (const key of keys) statements.insertKey.run(key, number);
    if (final && finalNumber !== null) {
      for (const row of statements.selectFinal.all(finals - final.max)) {
        deleteRow(row as unknown as Row);
      }
    }
    onPut(record);
    return record;
  }

  function deleteRow({ number, value }: Row) {
    beginTransaction();
    for (const key of new Set(keysOf(JSON.parse(value)))) statements.deleteKey.run(key, number);
    statements.remove.run(number);
  }

  return {
    get(id) {
      const known = select(id);
      return known && JSON.parse(known.value);
    },
    put,
    delete(id) {
      const known = select(id);
      if (known) deleteRow(known);
    },
    newest: () => statements.readNewest(),
    find: (key) => statements.readByKey(key),
    search: (prefix, text) =>
      statements.readByText(prefix, `${prefix}\u{10ffff}`, prefix.length + 1, text.toLowerCase()),
    get size() {
      return statements.count.get()!.count as number;
    },
  };
}

/** Creates the table, if it is missing, and prepares its statements. */
function prepareStatements<T>(db: DatabaseSync, name: string) {
  db.exec(`
    create table if not exists ${name} (
      number integer primary key, id text not null unique, value text not null, final integer
    );
    create index if not exists ${name}_final on ${name} (final) where final is not null;
    create table if not exists ${name}_keys (
      key text, number integer, primary key (key, number)
    ) without rowid;
  `);
  // A cross join makes SQLite read the keys first. Otherwise it could read all records.
  const keyed = `${name}_keys found cross join ${name} on ${name}.number = found.number where`;
  return {
    selectById: db.prepare(`select number, value from ${name} where id = ?`),
    insert: db.prepare(`insert into ${name} (value, final, id) values (?, ?, ?)`),
    update: db.prepare(`update ${name} set value = ?, final = ? where number = ?`),
    remove: db.prepare(`delete from ${name} where number = ?`),
    insertKey: db.prepare(`insert into ${name}_keys values (?, ?)`),
    deleteKey: db.prepare(`delete from ${name}_keys where key = ? and number = ?`),
    selectFinal: db.prepare(`select number, value from ${name} where final <= ?`),
    count: db.prepare(`select count(*) as count from ${name}`),
    latestFinal: db.prepare(`select max(final) as latest from ${name}`),
    readNewest: pageReader<T>(db, `${name} found where true`),
    readByKey: pageReader<T>(db, `${keyed} key = ?`),
    readByText: pageReader<T>(
      db,
      `${keyed} key between ? and ? and instr(lower(substr(key, ?)), ?) > 0`,
    ),
  };
}

/** Reads in pages, so that the table can change while a caller iterates. */
function pageReader<T>(db: DatabaseSync, from: string) {
  const statement = db.prepare(
    `select found.number, value from ${from} and found.number < ?
     order by found.number desc limit ${PAGE}`,
  );
  return function* (...values: SQLInputValue[]): Generator<T> {
    let before = Number.MAX_SAFE_INTEGER;
    while (true) {
      const rows = statement.all(...values, before) as unknown as Row[];
      for (const { value } of rows) yield JSON.parse(value);
      if (rows.length < PAGE) return;
      before = rows.at(-1)!.number;
    }
  };
}

/** The first of a list of records. */
export function first<T>(records: Iterable<T>): T | undefined {
  for (const record of records) return record;
  return undefined;
}
