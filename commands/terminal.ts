/**
 * Output of commands on the terminal: errors for the operator, status lines, progress, and the log.
 */

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

export interface Screen {
  isTerminal(): boolean;
  writeSync(bytes: Uint8Array): number;
}

/** The steps of a start. On a terminal a step that takes longer shows for how long it has run. */
export interface Steps extends Disposable {
  /** Begins a step on its own line. */
  begin(message: string): void;
  /** Changes the line of the current step; elsewhere than on a terminal, prints another line. */
  update(message: string): void;
}

export function showSteps(screen: Screen = Deno.stderr, columns = terminalWidth): Steps {
  if (!screen.isTerminal()) {
    return { begin: printStatus, update: printStatus, [Symbol.dispose]() {} };
  }
  let current: { message: string; startedAt: number } | null = null;
  const write = (text: string) => screen.writeSync(new TextEncoder().encode(text));

  /** Replaces the line. One that is wider than the terminal wraps, and could not be replaced. */
  function draw(isNew: boolean) {
    if (!current) return;
    const seconds = Math.round((performance.now() - current.startedAt) / 1_000);
    const line = `· ${current.message}${seconds > 0 ? ` (${seconds} s)` : ""}`;
    if (line.length < columns()) write(`\r\x1b[K${line}`);
    else if (isNew) write(line);
  }

  function end() {
    if (current) write("\n");
    current = null;
  }

  const timer = setInterval(() => draw(false), 1_000);
  return {
    begin(message) {
      end();
      current = { message, startedAt: performance.now() };
      draw(true);
    },
    update(message) {
      const isNew = current === null;
      current = { message, startedAt: current?.startedAt ?? performance.now() };
      draw(isNew);
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      end();
    },
  };
}

function terminalWidth(): number {
  try {
    // 0 in a terminal without a size, such as one that a program opened.
    return Deno.consoleSize().columns || 80;
  } catch {
    return 80;
  }
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

/** Rewrites lines of the log, which are JSON, for a person at a terminal. */
export function readableLog(lines: string): string {
  return lines.split("\n").filter((line) => line !== "").map(readableLine).join("");
}

function readableLine(line: string): string {
  const { time, level, event, ...fields } = JSON.parse(line);
  const start = `${String(time).slice(11, 19)}  `;
  if (event === "request") {
    const { method, route, status, duration_ms, code } = fields;
    const problem = code === undefined ? "" : `  ${code}`;
    return `${start}${method} ${route ?? "unknown path"}  ${status}  ${duration_ms} ms${problem}\n`;
  }
  const { error, ...more } = fields;
  const words = Object.entries(more).map(([name, value]) =>
    `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`
  );
  const first = [...level === "error" ? ["error"] : [], event, ...words].join("  ");
  return `${start}${first}\n${error === undefined ? "" : `${readableError(error)}\n`}`;
}

/** The stack begins with the name and message of the error. */
function readableError({ stack, message, cause }: LoggedError): string {
  const own = (stack || message).replaceAll(/^/gm, "    ");
  return cause === undefined ? own : `${own}\n    caused by:\n${readableError(cause)}`;
}

interface LoggedError {
  message: string;
  stack?: string;
  cause?: LoggedError;
}

export interface Progress {
  show(done: number, total: number): void;
  /** Clears the progress line on a terminal. */
  end(): void;
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
