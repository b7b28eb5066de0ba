import assert from "node:assert/strict";
import { createProgress, type Progress, readResults, type Result } from "./report.ts";

const REPORT = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="5" failures="1" errors="0" time="2.5">
    <testsuite name="./tests/a_test.ts" tests="2" disabled="1" errors="0" failures="0">
        <testcase name="a" classname="./tests/a_test.ts" time="1.000" line="1" col="6">
        </testcase>
        <testcase name="b" classname="./tests/a_test.ts" time="0.000" line="2" col="6">
            <skipped/>
        </testcase>
    </testsuite>
    <testsuite name="./tests/support/shared.ts" tests="2" disabled="0" errors="0" failures="1">
        <testcase name="c" classname="./tests/support/shared.ts" time="0.500" line="1" col="6">
        </testcase>
        <testcase name="d" classname="./tests/support/shared.ts" time="1.000" line="1" col="6">
            <failure message="Uncaught Error: x">Error: x</failure>
        </testcase>
    </testsuite>
</testsuites>`;

Deno.test("test report: tests that a shared module registers count for the file that ran alone", () => {
  assert.deepEqual(readResults(["tests/a_test.ts"], REPORT), [{
    path: "tests/a_test.ts",
    counts: { passed: 2, failed: 1, skipped: 1 },
    seconds: 2.5,
    isCancelled: false,
  }]);
});

Deno.test("test report: if several files ran, tests of a shared module get a result of their own", () => {
  const results = readResults(["tests/a_test.ts", "tests/b_test.ts"], REPORT);
  assert.deepEqual(results.map(({ path, counts }) => ({ path, ...counts })), [
    { path: "tests/a_test.ts", passed: 1, failed: 0, skipped: 1 },
    { path: "tests/b_test.ts", passed: 0, failed: 0, skipped: 0 },
    { path: "tests/support/shared.ts", passed: 1, failed: 1, skipped: 0 },
  ]);
});

/** A run of four files, in which time passes only if the test says so. */
function openProgress(isTerminal: boolean, options: string[] = []) {
  const time = { ms: 0 };
  let printed = "";
  const print = (text: string) => void (printed += text);
  const progress: Progress = createProgress({
    total: 4,
    isTerminal,
    print,
    now: () => time.ms,
    options,
  });
  const result = (path: string, failed = 0): Result => ({
    path,
    counts: { passed: 2, failed, skipped: 1 },
    seconds: 1.5,
    isCancelled: false,
  });
  return { ...progress, time, result, printed: () => printed };
}

Deno.test("test progress: in a terminal, one line says how many files are done and how long the rest takes", () => {
  const run = openProgress(true);
  run.time.ms = 4 * 60_000;
  run.add([run.result("tests/a_test.ts")], "");
  assert.equal(run.printed(), "\r\x1b[2K1 of 4 files, 0 failed, about 12 min left");
});

Deno.test("test progress: without a terminal, there is a new line every 30 seconds", () => {
  const run = openProgress(false);
  run.add([run.result("tests/a_test.ts")], "");
  assert.equal(run.printed(), "");
  run.time.ms = 60_000;
  run.add([run.result("tests/b_test.ts")], "");
  run.add([run.result("tests/c_test.ts")], "");
  assert.equal(run.printed(), "2 of 4 files, 0 failed, about 1 min left\n");
});

Deno.test("test progress: a failure is shown at once, with the command that repeats it", () => {
  const run = openProgress(false, ["--full"]);
  run.add([run.result("tests/a_test.ts", 1)], "AssertionError: 1 !== 2");
  assert.equal(
    run.printed(),
    "AssertionError: 1 !== 2\n" +
      "FAILED after 1.5 s. Repeat it with: deno task test --full tests/a_test.ts\n",
  );
  assert.equal(run.end(), false);
});

Deno.test("test progress: the end says what was skipped, and the command that installs what is missing", () => {
  const run = openProgress(false);
  const output = "\n*** NO curl: its tests are SKIPPED ***\n" +
    "\n*** NO chromium: the tests in a browser are SKIPPED ***\n";
  run.add([run.result("tests/a_test.ts"), run.result("tests/b_test.ts")], output + output);
  assert.equal(run.end(), true);
  assert.equal(
    run.printed(),
    [
      "4 passed, 0 failed, 2 skipped",
      "Missing curl: its tests are skipped",
      "Missing chromium: the tests in a browser are skipped",
      "To run them, install on Debian: apt-get install curl chromium chromium-headless-shell\n",
    ].join("\n"),
  );
});
