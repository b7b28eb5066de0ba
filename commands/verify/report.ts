/** The report of a verification: for people, and as JSON for programs. */

import { type AssumptionResult, testAssumptions } from "./assumptions.ts";
import type { Difference } from "./compare.ts";
import type { StepResult, Verification } from "./verify.ts";

export interface ReportHead {
  gateway: string;
  /** The path of the file. */
  recordings: string;
}

export function reportJson({ results }: Verification, head: ReportHead): string {
  const count = (wanted: StepResult["result"]) =>
    results.filter(({ result }) => result === wanted).length;
  const assumptions = testAssumptions(results);
  const report = {
    ...head,
    summary: {
      agrees: count("agrees"),
      differs: count("differs"),
      not_available: count("not_available"),
      not_run: count("not_run"),
      assumptions_not_tested: assumptions.filter(isNotTested).length,
    },
    steps: results.map(({ differences, ...result }) => ({
      ...result,
      differences: differences.map(({ affectsClient, ...each }) => ({
        ...each,
        affects_client: affectsClient,
      })),
    })),
    assumptions,
  };
  return JSON.stringify(report, null, 2);
}

/** docs/gateway.md, "Verifying the gateway", explains the marks. */
export function reportText({ results }: Verification, head: ReportHead): string {
  const section = (title: string, wanted: StepResult["result"], mark: string) =>
    list(
      title,
      results.filter(({ result }) => result === wanted).map(({ step, reason, differences }) =>
        [`${mark} ${step}${reason ? `: ${reason}` : ""}`, ...differences.map(describe)].join("\n")
      ),
    );
  return [
    `Gateway     ${head.gateway}\nRecordings  ${head.recordings}`,
    section("Agreements", "agrees", "="),
    section("Not available in this account", "not_available", "-"),
    section("Not run", "not_run", "."),
    list(
      "Assumptions not tested",
      testAssumptions(results).filter(isNotTested).map(({ heading, text }) =>
        `? ${heading}: ${text}`
      ),
    ),
    section("Differences", "differs", "#"),
  ].join("\n\n");
}

function list(title: string, entries: string[]): string {
  return [`${title}: ${entries.length}`, ...entries].join("\n").replaceAll("\n", "\n  ");
}

function describe({ member, gateway, assumed, affectsClient }: Difference): string {
  return `  ${affectsClient ? "!" : " "} ${member}: ${gateway}; assumed: ${assumed}`;
}

function isNotTested({ result }: AssumptionResult): boolean {
  return result === "not_tested";
}
