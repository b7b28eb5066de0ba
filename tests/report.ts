/** The results of test files: read from the report of a process, and shown to a person. */

import { relative } from "node:path";
import { createProgressLine, minutesLeft } from "./support/progress_line.ts";

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

export interface Progress {
  /** Call it for the files of a process that has ended. */
  add(files: Result[], output: string): void;
  /** Prints the totals and why tests were skipped. Returns whether all tests passed. */
  end(): boolean;
}

export interface ProgressOptions {
  /** The number of files that run. */
  total: number;
  isTerminal: boolean;
  print(text: string): void;
  /** Milliseconds. */
  now(): number;
  /** Options with which a failed file is repeated, such as `--full`. */
  options?: string[];
}

/** The Debian packages of the programs that tests need. */
const PACKAGES: Record<string, string> = {
  chromium: "chromium chromium-headless-shell",
  curl: "curl",
  java: "default-jre-headless",
  npx: "npm",
  openssl: "openssl",
  pg_dump: "postgresql",
  "/usr/sbin/pgbouncer": "pgbouncer",
  "PostgreSQL 15": "postgresql-15",
  php: "php-cli php-curl php-guzzlehttp-guzzle",
  promtool: "prometheus",
  python3: "python3 python3-urllib3 python3-dateutil python3-six python3-certifi",
  "systemd-analyze": "systemd",
};

/**
 * Shows one line that says how far the run is, and failures at once with the command that repeats
 * them.
 */
export function createProgress(options: ProgressOptions): Progress {
  const { total, isTerminal, print, now } = options;
  const startedAt = now();
  const progressLine = createProgressLine({ isTerminal, print, now });
  const results: Result[] = [];
  const skipped = new Map<string, string>();

  const failedFiles = () => results.filter(({ counts }) => counts.failed > 0);

  function line(): string {
    const done = Math.min(results.length, total);
    const minutes = minutesLeft(now() - startedAt, done, total);
    return `${done} of ${total} files, ${failedFiles().length} failed, about ${minutes} min left`;
  }

  function showLine() {
    if (results.length > 0 && results.length < total) progressLine.show(line());
  }

  return {
    add(files, output) {
      results.push(...files);
      const failed = files.filter(({ counts }) => counts.failed > 0);
      if (failed.length > 0) {
        progressLine.clear();
        print(output + "\n");
        for (const { path, seconds } of failed) {
          const command = ["deno task test", ...options.options ?? [], path].join(" ");
          print(`FAILED after ${seconds.toFixed(1)} s. Repeat it with: ${command}\n`);
        }
      }
      for (const [, program, what] of output.matchAll(/^\*\*\* NO (.+?): (.*?) SKIPPED/gm)) {
        skipped.set(`${program}: ${what} skipped`, program!);
      }
      showLine();
    },
    end() {
      progressLine.clear();
      for (const { path } of failedFiles()) print(`failed: ${path}\n`);
      const sum = (name: keyof Counts) =>
        results.reduce((total, { counts }) => total + counts[name], 0);
      print(`${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped\n`);
      for (const what of skipped.keys()) print(`Missing ${what}\n`);
      const packages = new Set([...skipped.values()].flatMap((program) => PACKAGES[program] ?? []));
      if (packages.size > 0) {
        print(`To run them, install on Debian: apt-get install ${[...packages].join(" ")}\n`);
      }
      return failedFiles().length === 0;
    },
  };
}
