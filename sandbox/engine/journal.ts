/**
 * Stores records on disk in Deno KV. Changes made during a commit are written together by the next
 * commit.
 */

import { Buffer } from "node:buffer";
import { setTimeout as delay } from "node:timers/promises";

export interface Journal {
  /** Buffers a change. It is on disk when a later call of `committed` resolves. */
  write(key: JournalKey, value: Uint8Array | null): void;
  /** Marks a consistent state: a commit may end here. */
  checkpoint(): void;
  committed(): Promise<void>;
  /** All values of a table, ordered by number. */
  read(table: string): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
  /** Called before each commit; may write changes that become part of it. */
  beforeCommit: () => void;
}

export type JournalKey = [table: string, number: number];

/**
 * Deno KV limits a commit to 1000 changes and 800 KiB, and a value to 64 KiB. Larger values are
 * split into parts.
 */
const MAX_PART_BYTES = 60_000;
const MAX_COMMIT = { changes: 900, bytes: 700_000 };
/**
 * A commit of this size is closed at the next checkpoint, which leaves room for the changes of one
 * operation.
 */
const FULL_COMMIT = { changes: 400, bytes: 300_000 };
/** All parts of a record must fit into one commit. */
export const MAX_VALUE_BYTES = 300_000;

/** The state file cannot be used. The message says why and what to do. */
export class JournalError extends Error {
  override name = "JournalError";
}

interface Change {
  key: JournalKey;
  value: Uint8Array | null;
}

export async function openJournal(path: string): Promise<Journal> {
  const lock = await lockJournal(path);
  const kv = await Deno.openKv(path).catch((error) => {
    lock.close();
    throw unusableJournal(path, error);
  });
  let open = { changes: new Map<string, Change>(), bytes: 0 };
  /** Complete commits in order; the first stays in the list until it is on disk. */
  const sealed: Change[][] = [];
  let writing: Promise<void> = Promise.resolve();
  let next: Promise<void> | null = null;
  /** Number of parts of each record that has more than one part. */
  const partCounts = new Map<string, number>();

  function write(key: JournalKey, value: Uint8Array | null) {
    open.changes.set(key.join(), { key, value });
    open.bytes += size({ value });
  }

  function sealCommit() {
    if (open.changes.size === 0) return;
    const { changes } = open;
    open = { changes: new Map(), bytes: 0 };
    journal.beforeCommit();
    // Changes of `beforeCommit` come first and replace earlier changes of the same record.
    for (const [key, change] of changes) {
      if (!open.changes.has(key)) open.changes.set(key, change);
    }
    sealed.push([...open.changes.values()]);
    open = { changes: new Map(), bytes: 0 };
  }

  function checkpoint() {
    const isFull = open.changes.size >= FULL_COMMIT.changes || open.bytes >= FULL_COMMIT.bytes;
    if (isFull) sealCommit();
  }

  async function flush(): Promise<void> {
    // Later callers wait for the next commit.
    next = null;
    sealCommit();
    while (sealed.length > 0) {
      for (const group of splitIntoCommits(sealed[0]!)) await commit(group);
      sealed.shift();
    }
  }

  async function commit(changes: Change[]): Promise<void> {
    const atomic = kv.atomic();
    for (const { key, value } of changes) {
      const parts = value === null ? [] : split(value);
      const before = partCounts.get(key.join()) ?? 1;
      parts.forEach((part, index) => atomic.set(partKey(key, index), part));
      for (let i = parts.length; i < before; i++) atomic.delete(partKey(key, i));
    }
    await atomic.commit();
    for (const { key, value } of changes) {
      const count = value === null ? 0 : split(value).length;
      if (count > 1) partCounts.set(key.join(), count);
      else partCounts.delete(key.join());
    }
  }

  /**
   * Call this function after all changes of an operation are written. Then no commit contains only
   * a part of an operation.
   */
  function committed(): Promise<void> {
    checkpoint();
    if (open.changes.size === 0 && sealed.length === 0) return writing;
    // Changes of a failed commit are still in `sealed` and are retried.
    return next ??= writing = writing.catch(() => {}).then(flush);
  }

  const journal: Journal = {
    write,
    checkpoint,
    committed,
    beforeCommit: () => {},
    async *read(table) {
      let parts: Uint8Array[] = [];
      let firstKey = "";
      for await (const { key, value } of kv.list<Uint8Array>({ prefix: [table] })) {
        if (key.length === 2 && parts.length > 0) yield Buffer.concat(parts);
        if (key.length === 2) [parts, firstKey] = [[], key.join()];
        parts.push(value);
        if (parts.length > 1) partCounts.set(firstKey, parts.length);
      }
      if (parts.length > 0) yield Buffer.concat(parts);
    },
    async close() {
      try {
        await committed();
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new JournalError(`The latest changes could not be written to ${path} (${reason}).`);
      } finally {
        kv.close();
        lock.close();
      }
    },
  };
  return journal;
}

/**
 * A process that is being started inherits the open files of its parent for a moment, including a
 * lock that was just released. So the lock is retried for this long.
 */
const LOCK_TIMEOUT_MS = 1_000;

/** Two sandboxes with one file would overwrite each other's records. */
async function lockJournal(path: string): Promise<Deno.FsFile> {
  const file = openLock(path);
  for (const began = Date.now(); Date.now() - began < LOCK_TIMEOUT_MS; await delay(20)) {
    if (file.tryLockSync(true)) return file;
  }
  file.close();
  throw new JournalError(
    `Another sandbox is using ${path}. Stop it, or choose another file.`,
  );
}

function openLock(path: string): Deno.FsFile {
  try {
    return Deno.openSync(`${path}.lock`, { create: true, write: true });
  } catch (error) {
    throw unusableJournal(path, error);
  }
}

export function unusableJournal(path: string, cause: unknown): JournalError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new JournalError(
    `The sandbox cannot read its state in ${path} (${reason}). Delete the file to start fresh, or choose another file.`,
    { cause },
  );
}

/** The first part uses the record's key; the other parts sort directly after it. */
function partKey(key: JournalKey, index: number): Deno.KvKey {
  return index === 0 ? key : [...key, index];
}

function split(value: Uint8Array): Uint8Array[] {
  const count = Math.max(1, Math.ceil(value.length / MAX_PART_BYTES));
  return Array.from(
    { length: count },
    (_, index) => value.subarray(index * MAX_PART_BYTES, (index + 1) * MAX_PART_BYTES),
  );
}

/** Returns all changes as one commit, unless an operation wrote more than a commit can hold. */
function* splitIntoCommits(changes: Change[]): Iterable<Change[]> {
  let group: Change[] = [];
  let bytes = 0;
  for (const change of changes) {
    if (group.length >= MAX_COMMIT.changes || bytes + size(change) > MAX_COMMIT.bytes) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(change);
    bytes += size(change);
  }
  if (group.length > 0) yield group;
}

function size({ value }: Pick<Change, "value">): number {
  return 100 + (value?.length ?? 0);
}
