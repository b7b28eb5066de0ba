/** The results of the doctor as text for people, and as objects for programs. */

import type { CheckName, CheckResult, CheckStatus, Finding } from "./check_result.ts";
import { CHECK_NAMES, FINDINGS, type FindingText } from "./texts.ts";

/** The texts in one language. */
export interface DoctorTexts {
  checks: Record<CheckName, string>;
  findings: Record<Finding, FindingText>;
}

export const ENGLISH_TEXTS: DoctorTexts = { checks: CHECK_NAMES, findings: FINDINGS };

export interface DescribedResult {
  check: CheckName;
  status: CheckStatus;
  finding: Finding;
  found: string;
  next: string | null;
}

export function describeResult(
  { check, status, finding, values }: CheckResult,
  { checks, findings }: DoctorTexts = ENGLISH_TEXTS,
): DescribedResult {
  const shown = { ...values, check: checks[values.check as CheckName] };
  const fill = (text: string) =>
    text.replace(/\{(\w+)\}/g, (_, name: keyof typeof shown) => String(shown[name]));
  const { found, next } = findings[finding];
  return { check, status, finding, found: fill(found), next: next && fill(next) };
}

const MARKS: Record<CheckStatus, string> = {
  ok: "ok",
  warning: "WARNING",
  fault: "FAULT",
  not_tested: "not tested",
};

/** One line for each check, and the next step below it. */
export function renderResults(results: CheckResult[]): string {
  const width = Math.max(...Object.values(MARKS).map(({ length }) => length));
  const lines = results.flatMap((result) => {
    const { check, status, found, next } = describeResult(result);
    const line = `${MARKS[status].padEnd(width)}  ${CHECK_NAMES[check]}: ${found}`;
    return next ? [line, `${" ".repeat(width)}  → ${next}`] : [line];
  });
  const count = (status: CheckStatus) => results.filter((each) => each.status === status).length;
  const [faults, warnings] = [count("fault"), count("warning")];
  return [...lines, "", `Faults: ${faults}. Warnings: ${warnings}.`].join("\n");
}
