/** Records of one kind: read from memory, written to the journal if there is one. */

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
  /** Newest first. */
  newest(): IterableIterator<T>;
  oldest(): IterableIterator<T>;
  readonly size: number;
}

export class RecordTooLarge extends Error {
  override name = "RecordTooLarge";
}

/**
 * `onPut` is called for every record, including those read from the journal. The whole table is
 * kept in memory, which keeps reads fast.
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
      // Removes the ids of deleted records, so that iteration stays fast.
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
