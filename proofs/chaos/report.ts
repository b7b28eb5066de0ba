/** What a run has done and found, as text. */

import type { ChaosResult } from "./chaos.ts";
import { databaseKills, type Disturbances, kills } from "./disturb.ts";
import type { Installation } from "./installation.ts";

const MAX_SHOWN = 20;

export function reportText(
  { seed, history, differences, disturbances, seconds }: ChaosResult,
  { courier, serviceFindings }: Pick<Installation, "courier" | "serviceFindings">,
): string {
  const { counts, longestRestart, longestOutage } = disturbances;
  const callsOf = (name: string) => history.calls.filter((call) => call.name === name);
  const done = (name: string) => callsOf(name).filter(({ outcome }) => outcome === "done").length;
  const attempts = history.calls.reduce((sum, { answers }) => sum + answers.length, 0);
  const line = (name: string, text: string) => `${name.padEnd(26)} ${text}`;
  return [
    line("Orders", `${history.orders.length}, ${done("charge")} charged`),
    line("Refunds", `${done("refund")} of ${callsOf("refund").length} requested`),
    line("Captures, cancellations", `${done("capture")}, ${done("cancel")}`),
    line("Calls, attempts", `${history.calls.length}, ${attempts}`),
    line("Notifications", describeCounts(courier.counts)),
    line("Events, webhooks", `${history.events.length}, ${history.deliveries.length}`),
    line("Kills and failovers", `${kills(disturbances)}: ${describeKills(counts)}`),
    line("Pauses, gateway faults", `${counts.paused}, ${counts.gateway}`),
    line("Starts without database", `${serviceFindings.failedStarts}`),
    line(
      "Longest recovery",
      `${inSeconds(longestRestart)} from the kill of an instance until it ` +
        `was ready, ${inSeconds(longestOutage)} from that of the database until a write succeeded`,
    ),
    line("Time, seed", `${seconds.toFixed(0)} s, ${seed}`),
    line("What differed", differences.length === 0 ? "nothing" : `${differences.length} findings`),
    ...differences.slice(0, MAX_SHOWN).map(({ rule, orderId, text }) =>
      `DIFFERENCE  ${rule}${orderId === null ? "" : ` (${orderId})`}: ${text.slice(0, 500)}`
    ),
    ...differences.length > MAX_SHOWN
      ? [`${differences.length - MAX_SHOWN} further findings not shown`]
      : [],
  ].join("\n");
}

/** Such as `26 of instances, 5 of the database (3 switchover, 2 kill)`. */
function describeKills(counts: Disturbances["counts"]): string {
  const kinds = [...counts.databases].map(([kind, count]) => `${count} ${kind}`).join(", ");
  const ofDatabase = `${databaseKills(counts)} of the database${kinds && ` (${kinds})`}`;
  return `${counts.killed} of instances, ${ofDatabase}`;
}

function describeCounts(counts: Installation["courier"]["counts"]): string {
  return Object.entries(counts).map(([name, count]) => `${count} ${name}`).join(", ");
}

function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
