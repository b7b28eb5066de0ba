/** Writes text out without ever holding anybody up. */

import { waitAtMost } from "../concurrency/deadlines.ts";

/** What may wait to be written; beyond it text is dropped, for memory has an end and logs have none. */
const MAX_WAITING = 4 * 1024 * 1024;

/** How long the end waits for a reader that does not read. */
const DRAIN_MS = 1_000;

export interface Writer {
  write(text: string): void;
  /** Resolves when all is written, or nobody seems to read. */
  drained(): Promise<void>;
}

/**
 * A pipe that nobody reads blocks whoever writes to it: so writing waits in the background, and
 * requests go on. What had to be dropped is told in a line of its own.
 */
export function createWriter(
  write: (bytes: Uint8Array) => Promise<number>,
  maxWaiting = MAX_WAITING,
): Writer {
  let waiting = "";
  let dropped = 0;
  let pumping: Promise<void> | null = null;

  async function pump() {
    while (waiting || dropped) {
      const note = dropped
        ? JSON.stringify({ level: "error", event: "log_dropped", dropped }) + "\n"
        : "";
      let rest = new TextEncoder().encode(waiting + note);
      waiting = "";
      dropped = 0;
      try {
        while (rest.length > 0) rest = rest.subarray(await write(rest));
      } catch {
        // The terminal is gone: there is nobody to tell, and no reason to fail.
      }
    }
    pumping = null;
  }

  return {
    write(text) {
      if (waiting.length + text.length > maxWaiting) dropped += text.length;
      else waiting += text;
      pumping ??= pump();
    },
    async drained() {
      if (pumping) await waitAtMost(DRAIN_MS, pumping);
    },
  };
}
