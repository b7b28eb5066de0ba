/** Tells how far a long piece of work is: in place on a terminal, else in a line now and then. */

import { type Clock, systemClock } from "../core/clock.ts";

export interface Progress {
  /** So many of so many are done. */
  tell(done: number, total: number): void;
  /** Leaves nothing half-written behind. */
  end(): void;
}

export interface Screen {
  isTerminal(): boolean;
  writeSync(bytes: Uint8Array): number;
}

/** Nobody reads faster. */
const TERMINAL_MS = 100;

/** A log is read later, and should not be full of this. */
const LOG_MS = 10_000;

export function createProgress(
  what: string,
  screen: Screen = Deno.stderr,
  clock: Clock = systemClock,
): Progress {
  const isTerminal = screen.isTerminal();
  const every = isTerminal ? TERMINAL_MS : LOG_MS;
  let toldAt = isTerminal ? -Infinity : clock();
  let width = 0;
  const write = (text: string) => screen.writeSync(new TextEncoder().encode(text));

  return {
    tell(done, total) {
      if (clock() - toldAt < every) return;
      toldAt = clock();
      const line = `${what}: ${done} of ${total}`;
      write(isTerminal ? `\r${line.padEnd(width)}` : `${line}\n`);
      width = line.length;
    },
    end() {
      if (isTerminal && width > 0) write(`\r${" ".repeat(width)}\r`);
    },
  };
}
