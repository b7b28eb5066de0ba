/** Finds errors in logs. On a slow machine, exceeded time limits of the database are no fault. */

import type { TestApp } from "./app.ts";

/**
 * The messages of exceeded time limits: of calls, of statements that the server cancelled, and of
 * sessions such as the publisher's, which connect again.
 */
const TIME_LIMIT = new RegExp(
  '"message":"(No response from the database within|Timed out after' +
    '|canceling statement due to statement timeout)|"code":"CONNECT_TIMEOUT"',
);

/** The number of repetitions of an error that has a line of its own. */
const REPETITIONS = /"repeated":\d+\}$/;

/** The error lines in the output of a service. */
export function errorsIn(output: string): string[] {
  return output.split("\n").filter((line) =>
    /"level":"error"|unhandled|uncaught/i.test(line) &&
    !TIME_LIMIT.test(line) && !REPETITIONS.test(line)
  );
}

/** The error lines in the log of an app. */
export function errorsOf(app: TestApp): string[] {
  return errorsIn(app.logged().map((line) => JSON.stringify(line)).join("\n"));
}
