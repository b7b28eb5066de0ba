/** Reads the results of test files from the JUnit report of a process. */

import { relative } from "node:path";

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export interface Result {
  /** A test file, or a shared module that registers tests for several files. */
  path: string;
  counts: Counts;
  seconds: number;
  /** Whether tests did not run, because of an error outside of tests. */
  isCancelled: boolean;
}

/**
 * The results of the files that a process ran. The report groups tests by the module that registers
 * them, which can be a shared module. If the process ran one file, the tests of that module count
 * for the file. If it ran several files, the module gets its own result.
 */
export function readResults(paths: string[], report: string): Result[] {
  const suites = report.split("<testsuite ").slice(1).map(readSuite);
  const names = paths.map((path) => relative(".", path));
  const files = paths.map((path, index) =>
    suites.find((suite) => suite.path === names[index]) ?? emptyResult(path)
  );
  const others = suites.filter((suite) => !names.includes(suite.path));
  const results = paths.length === 1 ? [[...files, ...others].reduce(add)] : [...files, ...others];
  return results.map((result, index) => ({ ...result, path: paths[index] ?? result.path }));
}

function readSuite(text: string): Result {
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  const skipped = count(/<skipped\b/g);
  const failed = count(/<(failure|error)\b/g);
  const passed = Math.max(0, count(/<testcase\b/g) - failed - skipped);
  const times = [...text.matchAll(/ time="([\d.]+)"/g)].map(([, time]) => Number(time));
  return {
    path: text.match(/^name="(?:\.\/)?([^"]*)"/)?.[1] ?? "",
    counts: { passed, failed, skipped },
    seconds: times.reduce((sum, time) => sum + time, 0),
    isCancelled: text.includes('<error message="Cancelled"'),
  };
}

function emptyResult(path: string): Result {
  return {
    path,
    counts: { passed: 0, failed: 0, skipped: 0 },
    seconds: 0,
    isCancelled: false,
  };
}

function add(one: Result, other: Result): Result {
  return {
    path: one.path,
    counts: {
      passed: one.counts.passed + other.counts.passed,
      failed: one.counts.failed + other.counts.failed,
      skipped: one.counts.skipped + other.counts.skipped,
    },
    seconds: one.seconds + other.seconds,
    isCancelled: one.isCancelled || other.isCancelled,
  };
}
