/** Output of commands on the terminal: errors for the operator, status lines, and progress. */

import { type Clock, systemClock } from "../core/time/clock.ts";
import { ConfigError } from "../core/config/problems.ts";
import { createLog } from "../core/telemetry/log.ts";

/** Thrown to end a command. Only the message is printed: an operator needs no stack trace. */
export class Failure extends Error {
  override name = "Failure";
}

/**
 * Prints a status line to standard error, which keeps standard output for results. Under a
 * supervisor, where standard error is not a terminal, the line is JSON like every other line of the
 * log.
 */
export function printStatus(message: string): void {
  if (Deno.stderr.isTerminal()) return console.error(`%c·%c ${message}`, "color: cyan", "");
  const time = new Date(systemClock()).toISOString();
  console.error(JSON.stringify({ time, level: "info", event: "start_up", message }));
}

/**
 * The message is enough for an error that the operator can fix; others are printed with the stack.
 */
export function printError(error: unknown): void {
  console.error(isForOperator(error) ? error.message : error);
}

/** Like `printError` on a terminal; otherwise one line of JSON, like `printStatus`. */
export function printStartError(error: unknown): void {
  if (Deno.stderr.isTerminal()) return printError(error);
  if (isForOperator(error)) {
    const time = new Date(systemClock()).toISOString();
    const { message } = error;
    return console.error(JSON.stringify({ time, level: "error", event: "start_failed", message }));
  }
  const log = createLog((line) => console.error(line.trimEnd()));
  log.error("start_failed", error);
  log.flush();
}

function isForOperator(error: unknown): error is Error {
  return error instanceof ConfigError || error instanceof Failure;
}

export interface Progress {
  show(done: number, total: number): void;
  /** Clears the progress line on a terminal. */
  end(): void;
}

export interface Screen {
  isTerminal(): boolean;
  writeSync(bytes: Uint8Array): number;
}

/** Interval of updates on a terminal. */
const TERMINAL_MS = 100;

/** Interval of lines in a log. */
const LOG_MS = 10_000;

/** Shows the progress of long work: in place on a terminal, otherwise as occasional lines. */
export function createProgress(
  label: string,
  screen: Screen = Deno.stderr,
  clock: Clock = systemClock,
): Progress {
  const isTerminal = screen.isTerminal();
  const intervalMs = isTerminal ? TERMINAL_MS : LOG_MS;
  let shownAt = isTerminal ? -Infinity : clock();
  let width = 0;
  const write = (text: string) => screen.writeSync(new TextEncoder().encode(text));

  return {
    show(done, total) {
      if (clock() - shownAt < intervalMs) return;
      shownAt = clock();
      const line = `${label}: ${done} of ${total}`;
      write(isTerminal ? `\r${line.padEnd(width)}` : `${line}\n`);
      width = line.length;
    },
    end() {
      if (isTerminal && width > 0) write(`\r${" ".repeat(width)}\r`);
    },
  };
}
