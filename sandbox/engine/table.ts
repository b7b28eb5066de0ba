/** Records of one kind: read from memory, kept in the journal where there is one. */

import { type Journal, MAX_VALUE_BYTES } from "./journal.ts";

export interface Stored {
  id: string;
  /** Counts the records of a table in the order they were made; given by the table. */
  number: number;
}

export type New<T extends Stored> = Omit<T, "number">;

export interface Table<T extends Stored> {
  get(id: string): T | undefined;
  /** Adds a record, or puts it in the place of the one with its id. */
  put(record: New<T> & { number?: number }): T;
  delete(id: string): void;
  /** The latest first. */
  newest(): IterableIterator<T>;
  oldest(): IterableIterator<T>;
  readonly size: number;
}

export class RecordTooLarge extends Error {
  override name = "RecordTooLarge";
}

/**
 * `onPut` hears of every record, those that were read from the journal included. The journal is
 * read whole: a sandbox has its state in memory, which makes it quick however much there is.
 */
export async function openTable<T extends Stored>(
  name: string,
  journal: Journal | null,
  onPut: (record: T) => void = () => {},
): Promise<Table<T>> {
  const records = new Map<string, T>();
  let order: string[] = [];
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  let count = 0;

  if (journal) {
    for await (const bytes of journal.read(name)) {
      const record: T = JSON.parse(decoder.decode(bytes));
      count = record.number + 1;
      records.set(record.id, record);
      order.push(record.id);
      onPut(record);
    }
  }

  return {
    get: (id) => records.get(id),
    put(given) {
      const known = records.get(given.id);
      const record = { ...given, number: known?.number ?? count } as T;
      if (journal) {
        const bytes = encoder.encode(JSON.stringify(record));
        if (bytes.length >= MAX_VALUE_BYTES) throw new RecordTooLarge(`${name} ${record.id}`);
        journal.write([name, record.number], bytes);
      }
      if (!known) {
        count++;
        order.push(record.id);
      }
      records.set(record.id, record);
      onPut(record);
      return record;
    },
    delete(id) {
      const known = records.get(id);
      if (!known) return;
      records.delete(id);
      journal?.write([name, known.number], null);
      // What was deleted must not be stepped over for ever.
      if (order.length > 2 * records.size + 1000) order = [...records.keys()];
    },
    *newest() {
      for (let i = order.length - 1; i >= 0; i--) {
        const record = records.get(order[i]!);
        if (record) yield record;
      }
    },
    oldest: () => records.values(),
    get size() {
      return records.size;
    },
  };
}
