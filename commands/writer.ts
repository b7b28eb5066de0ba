/** Writes the log without blocking requests. */

import { waitAtMost } from "../concurrency/deadlines.ts";

/** Maximum buffered text, in characters. More is dropped, to limit memory. */
const MAX_BUFFERED = 4 * 1024 * 1024;

/** How long shutdown waits for a reader that does not read. */
const DRAIN_MS = 1_000;

export interface Writer {
  write(text: string): void;
  /** Resolves when all text is written, or after a second. */
  drained(): Promise<void>;
}

/**
 * Writing to a full pipe blocks, so text is buffered and written in the background. Dropped text is
 * reported by a `log_dropped` line.
 */
export function createWriter(
  write: (bytes: Uint8Array) => Promise<number>,
  maxBuffered = MAX_BUFFERED,
): Writer {
  let buffered = "";
  let dropped = 0;
  let writing: Promise<void> | null = null;

  async function writeBuffered() {
    while (buffered || dropped) {
      const note = dropped
        ? JSON.stringify({ level: "error", event: "log_dropped", dropped }) + "\n"
        : "";
      let rest = new TextEncoder().encode(buffered + note);
      buffered = "";
      dropped = 0;
      try {
        while (rest.length > 0) rest = rest.subarray(await write(rest));
      } catch {
        // The terminal or pipe is closed. The service keeps running without its log.
      }
    }
    writing = null;
  }

  return {
    write(text) {
      if (buffered.length + text.length > maxBuffered) dropped += text.length;
      else buffered += text;
      writing ??= writeBuffered();
    },
    async drained() {
      if (writing) await waitAtMost(DRAIN_MS, writing);
    },
  };
}
