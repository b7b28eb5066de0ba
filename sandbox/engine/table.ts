/**
 * Records of one kind. They are kept in memory, and written to the journal if there is one. Only
 * the latest final records stay in memory: older ones are moved to the archive and read from there,
 * or are deleted if there is no archive.
 */

import type { Archive } from "./archive.ts";
import { type Journal, MAX_VALUE_BYTES } from "./journal.ts";

export interface Stored {
  id: string;
  /** Position in the order of creation; assigned by the table. */
  number: number;
}

export type New<T extends Stored> = Omit<T, "number">;

export interface Table<T extends Stored> {
  get(id: string): T | undefined;
  /** Adds a record, or replaces the record with the same id. */
  put(record: New<T> & { number?: number }): T;
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
  /** The records in memory: all that are not final, and the latest final ones. */
  inMemory(): Iterable<T>;
  /** After `commit`, moves the oldest final records out of memory if there are too many. */
  trim(commit: Promise<void>): Promise<void>;
  readonly size: number;
  readonly sizeInMemory: number;
}

export interface TableOptions<T extends Stored> {
  journal: Journal | null;
  archive?: Archive | null;
  /** Called for every record, including those read from the journal. */
  onPut?: (record: T) => void;
  /** Texts by which `find` finds a record, such as `order:A-1`. */
  keysOf?: (record: T) => string[];
  final?: FinalRecords<T>;
}

/** Which records are final, and how many of them are kept. */
export interface FinalRecords<T> {
  /** Whether nothing is scheduled for the record, so that it probably does not change again. */
  isFinal: (record: T) => boolean;
  maxInMemory: number;
  /** Maximum in memory and archive together. If there are more, the oldest are deleted. */
  max: number;
}

export class RecordTooLarge extends Error {
  override name = "RecordTooLarge";
}

/**
 * Final records are moved only when they exceed `maxInMemory` by this share, because each move
 * waits for the disk.
 */
const TRIM_SHARE = 0.25;

export async function openTable<T extends Stored>(
  name: string,
  { journal, archive = null, onPut = () => {}, keysOf = () => [], final }: TableOptions<T>,
): Promise<Table<T>> {
  const records = new Map<string, T>();
  /** Ids of the records in memory by key. */
  const index = new Map<string, Set<string>>();
  /** Final records in memory, in the order in which they became final. */
  const finals = new Map<string, T>();
  /** Numbers of records in memory of which the archive has an earlier state. */
  const changedSinceArchived = new Set<number>();
  let { count: archived, nextNumber } = archive?.summary(name) ?? { count: 0, nextNumber: 0 };
  /** Ascending numbers of the records in memory, and of some records that were removed. */
  let order: number[] = [];
  const ids = new Map<number, string>();
  let isTrimming = false;
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();

  if (journal) {
    const firstNew = nextNumber;
    for await (const bytes of journal.read(name)) {
      const record: T = JSON.parse(decoder.decode(bytes));
      nextNumber = Math.max(nextNumber, record.number + 1);
      if (record.number < firstNew && archive?.numberOf(name, record.id) !== undefined) {
        changedSinceArchived.add(record.number);
      }
      keep(record);
    }
  }

  function keep(record: T) {
    if (!records.has(record.id)) addToOrder(record.number);
    forget(record.id);
    records.set(record.id, record);
    ids.set(record.number, record.id);
    for (const key of keysOf(record)) {
      const found = index.get(key);
      if (found) found.add(record.id);
      else index.set(key, new Set([record.id]));
    }
    if (final?.isFinal(record)) finals.set(record.id, record);
    onPut(record);
  }

  /** Appends the number. If the record comes from the archive, inserts the number at its place. */
  function addToOrder(number: number) {
    let at = order.length;
    while (at > 0 && order[at - 1]! > number) at--;
    if (order[at - 1] !== number) order.splice(at, 0, number);
  }

  function forget(id: string) {
    const known = records.get(id);
    if (!known) return;
    records.delete(id);
    ids.delete(known.number);
    finals.delete(id);
    for (const key of keysOf(known)) {
      const found = index.get(key);
      found?.delete(id);
      if (found?.size === 0) index.delete(key);
    }
  }

  function put(given: New<T> & { number?: number }): T {
    const inMemory = records.get(given.id)?.number;
    // A new record has no number, or the number of the record from which it was copied.
    const inArchive = inMemory === undefined && given.number !== undefined
      ? archive?.numberOf(name, given.id)
      : undefined;
    const known = inMemory ?? inArchive;
    const record = { ...given, number: known ?? nextNumber } as T;
    if (journal) {
      const bytes = encoder.encode(JSON.stringify(record));
      if (bytes.length >= MAX_VALUE_BYTES) throw new RecordTooLarge(`${name} ${record.id}`);
      journal.write([name, record.number], bytes);
    }
    if (known === undefined) nextNumber++;
    if (inArchive !== undefined) changedSinceArchived.add(inArchive);
    keep(record);
    return record;
  }

  function removeFromMemory(id: string) {
    const known = records.get(id);
    if (!known) return;
    forget(id);
    journal?.write([name, known.number], null);
    // Drops the numbers of removed records, so that iteration stays fast.
    if (order.length > 2 * records.size + 1000) order = order.filter((each) => ids.has(each));
  }

  function removeFromArchive(numbers: number[]) {
    archive?.remove(name, numbers);
    archived -= numbers.length;
    for (const number of numbers) changedSinceArchived.delete(number);
  }

  function trim(commit: Promise<void>): Promise<void> {
    if (!final || isTrimming) return Promise.resolve();
    const surplus = finals.size - final.maxInMemory;
    if (surplus <= final.maxInMemory * TRIM_SHARE) return Promise.resolve();
    const oldest = [...finals.values()].slice(0, surplus);
    isTrimming = true;
    // Other callers report a failed commit; the records then stay in memory.
    return commit.then(() => moveOut(oldest, final.max), () => {})
      .finally(() => isTrimming = false);
  }

  /** The journal still has these records on disk, so an interrupted move loses none. */
  function moveOut(oldest: T[], max: number) {
    const unchanged = oldest.filter((record) => records.get(record.id) === record);
    archive?.store(
      name,
      unchanged.map((record) => ({
        id: record.id,
        number: record.number,
        keys: keysOf(record),
        value: JSON.stringify(record),
      })),
    );
    for (const { id, number } of unchanged) {
      if (archive && !changedSinceArchived.delete(number)) archived++;
      removeFromMemory(id);
    }
    const surplus = archived + finals.size - max;
    if (archive && surplus > 0) removeFromArchive(archive.oldest(name, surplus));
  }

  function* fromArchive(values: Iterable<string>): Generator<T> {
    for (const value of values) {
      const record: T = JSON.parse(value);
      if (!records.has(record.id)) yield record;
    }
  }

  function* inMemory(): Generator<T> {
    for (let i = order.length - 1; i >= 0; i--) {
      const record = records.get(ids.get(order[i]!) ?? "");
      if (record) yield record;
    }
  }

  function sortedInMemory(found: Iterable<string>): T[] {
    return [...found].map((id) => records.get(id)!).sort((a, b) => b.number - a.number);
  }

  return {
    get(id) {
      const known = records.get(id);
      if (known || !archive) return known;
      const value = archive.get(name, id);
      return value === undefined ? undefined : JSON.parse(value);
    },
    put,
    delete(id) {
      removeFromMemory(id);
      const number = archive?.numberOf(name, id);
      if (number !== undefined) removeFromArchive([number]);
    },
    newest: () => archive ? merge(inMemory(), fromArchive(archive.newest(name))) : inMemory(),
    find(key) {
      const found = sortedInMemory(index.get(key) ?? []);
      return archive ? merge(found, fromArchive(archive.find(name, key))) : found;
    },
    search(prefix, text) {
      const wanted = text.toLowerCase();
      const matching = new Set<string>();
      for (const [key, some] of index) {
        const isMatch = key.startsWith(prefix) &&
          key.slice(prefix.length).toLowerCase().includes(wanted);
        if (isMatch) some.forEach((id) => matching.add(id));
      }
      const found = sortedInMemory(matching);
      return archive ? merge(found, fromArchive(archive.search(name, prefix, text))) : found;
    },
    inMemory,
    trim,
    get size() {
      return records.size + archived - changedSinceArchived.size;
    },
    get sizeInMemory() {
      return records.size;
    },
  };
}

/** The first of a list of records. */
export function first<T>(records: Iterable<T>): T | undefined {
  for (const record of records) return record;
  return undefined;
}

/** Merges two lists that are ordered by number, newest first. */
function* merge<T extends Stored>(a: Iterable<T>, b: Iterable<T>): Generator<T> {
  const others = b[Symbol.iterator]();
  let other = others.next();
  for (const record of a) {
    while (!other.done && other.value.number > record.number) {
      yield other.value;
      other = others.next();
    }
    yield record;
  }
  while (!other.done) {
    yield other.value;
    other = others.next();
  }
}
