import assert from "node:assert/strict";
import { readResults } from "./report.ts";

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
