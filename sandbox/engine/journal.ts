/** Keeps records on disk in Deno KV; what is written meanwhile waits for one common commit. */

import { Buffer } from "node:buffer";
import { setTimeout as delay } from "node:timers/promises";

export interface Journal {
  /** Takes a change; it is on disk once a `committed` asked for after it comes true. */
  write(key: JournalKey, value: Uint8Array | null): void;
  /** What was written so far belongs together, and need not go with what follows. */
  checkpoint(): void;
  committed(): Promise<void>;
  /** Everything under a name, in the order of its numbers. */
  read(table: string): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

export type JournalKey = [table: string, number: number];

/** KV takes commits of 1000 changes and 800 KiB, and values of 64 KiB: longer ones go in parts. */
const MAX_PART_BYTES = 60_000;
const MAX_COMMIT = { changes: 900, bytes: 700_000 };
/** From here on a commit takes no more; what one operation writes still fits in behind it. */
const FULL_COMMIT = { changes: 400, bytes: 300_000 };
/** A record has to fit into one commit, parts and all. */
export const MAX_VALUE_BYTES = 300_000;

/** The file cannot be used; the message says why and what to do, for people. */
export class JournalError extends Error {
  override name = "JournalError";
}

interface Change {
  key: JournalKey;
  value: Uint8Array | null;
}

/** `beforeCommit` may write what has to be on disk no later than anything else in a commit. */
export async function openJournal(path: string, beforeCommit = () => {}): Promise<Journal> {
  const lock = await lockJournal(path);
  const kv = await Deno.openKv(path).catch((error) => {
    lock.close();
    throw unusable(path, error);
  });
  let open = { changes: new Map<string, Change>(), bytes: 0 };
  /** Whole commits, in their order; the first stays until it is on disk. */
  const sealed: Change[][] = [];
  let writing: Promise<void> = Promise.resolve();
  let next: Promise<void> | null = null;
  /** How many parts on disk a record has, where more than one. */
  const partCounts = new Map<string, number>();

  function write(key: JournalKey, value: Uint8Array | null) {
    open.changes.set(key.join(), { key, value });
    open.bytes += size({ value });
  }

  function seal() {
    if (open.changes.size === 0) return;
    const { changes } = open;
    open = { changes: new Map(), bytes: 0 };
    beforeCommit();
    // What is written now comes first, and in the place of what was written of it before.
    for (const [key, change] of changes) {
      if (!open.changes.has(key)) open.changes.set(key, change);
    }
    sealed.push([...open.changes.values()]);
    open = { changes: new Map(), bytes: 0 };
  }

  function checkpoint() {
    const isFull = open.changes.size >= FULL_COMMIT.changes || open.bytes >= FULL_COMMIT.bytes;
    if (isFull) seal();
  }

  async function writeOut(): Promise<void> {
    // From here on, newcomers wait for the commit after this one.
    next = null;
    seal();
    while (sealed.length > 0) {
      for (const group of commits(sealed[0]!)) await commit(group);
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

  /** Whoever asks has written all of what it did, so that a commit never ends in the middle of it. */
  function committed(): Promise<void> {
    checkpoint();
    if (open.changes.size === 0 && sealed.length === 0) return writing;
    // What an earlier commit failed to write is still there, and is tried again.
    return next ??= writing = writing.catch(() => {}).then(writeOut);
  }

  return {
    write,
    checkpoint,
    committed,
    async *read(table) {
      let parts: Uint8Array[] = [];
      let of = "";
      for await (const { key, value } of kv.list<Uint8Array>({ prefix: [table] })) {
        if (key.length === 2 && parts.length > 0) yield Buffer.concat(parts);
        if (key.length === 2) [parts, of] = [[], key.join()];
        parts.push(value);
        if (parts.length > 1) partCounts.set(of, parts.length);
      }
      if (parts.length > 0) yield Buffer.concat(parts);
    },
    async close() {
      try {
        await committed();
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new JournalError(`What happened last could not be kept in ${path} (${reason}).`);
      } finally {
        kv.close();
        lock.close();
      }
    },
  };
}

/**
 * A program that is being started holds all of its parent's files for a moment, a lock that was just
 * given back included: so one that is not to be had is asked for again, for this long.
 */
const LOCK_PATIENCE_MS = 1_000;

/** Two sandboxes on one file would each overwrite what the other has in memory. */
async function lockJournal(path: string): Promise<Deno.FsFile> {
  const file = openLock(path);
  for (const began = Date.now(); Date.now() - began < LOCK_PATIENCE_MS; await delay(20)) {
    if (file.tryLockSync(true)) return file;
  }
  file.close();
  throw new JournalError(
    `Another sandbox has its state in ${path}: stop it, or choose another file.`,
  );
}

function openLock(path: string): Deno.FsFile {
  try {
    return Deno.openSync(`${path}.lock`, { create: true, write: true });
  } catch (error) {
    throw unusable(path, error);
  }
}

export function unusable(path: string, cause: unknown): JournalError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new JournalError(
    `The sandbox's state in ${path} cannot be used (${reason}). Remove the file to begin anew, or choose another.`,
    { cause },
  );
}

/** The first part has the record's own key; the others sort right behind it. */
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

/** One, but for an operation that wrote more than any commit holds. */
function* commits(changes: Change[]): Iterable<Change[]> {
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
