import assert from "node:assert/strict";
import { Failure, printStartError } from "../../commands/terminal.ts";

/** The lines that `print` writes to standard error; `isTerminal`: standard error is a terminal. */
function printed(isTerminal: boolean, print: () => void): unknown[] {
  const lines: unknown[] = [];
  const { error } = console;
  const stderr = Deno.stderr as { isTerminal?: () => boolean };
  console.error = (...args: unknown[]) => void lines.push(...args);
  stderr.isTerminal = () => isTerminal;
  try {
    print();
  } finally {
    console.error = error;
    Reflect.deleteProperty(stderr, "isTerminal");
  }
  return lines;
}

Deno.test("start error: is readable on a terminal, and one line of JSON under a supervisor", () => {
  const failure = new Failure("Two settings are wrong:\n  PORT\n  HOST");
  assert.deepEqual(printed(true, () => printStartError(failure)), [failure.message]);
  const [line, ...more] = printed(false, () => printStartError(failure));
  assert.deepEqual(more, []);
  const { time, ...fields } = JSON.parse(String(line));
  assert.ok(Date.parse(time) > 0);
  const expected = { level: "error", event: "start_failed", message: failure.message };
  assert.deepEqual(fields, expected);
});

Deno.test("start error: includes the stack if the error is unexpected", () => {
  const unexpected = new TypeError("x is not a function");
  assert.deepEqual(printed(true, () => printStartError(unexpected)), [unexpected]);
  const [line, ...more] = printed(false, () => printStartError(unexpected));
  assert.deepEqual(more, []);
  assert.doesNotMatch(String(line), /\n/);
  const { level, event, error } = JSON.parse(String(line));
  assert.deepEqual([level, event, error.name, error.message], [
    ...["error", "start_failed", "TypeError", "x is not a function"],
  ]);
  assert.match(error.stack, /terminal_test/);
});
