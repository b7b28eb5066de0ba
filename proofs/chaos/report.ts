/** What a run has done and found, as text. */

import type { ChaosResult } from "./chaos.ts";
import type { Installation } from "./installation.ts";
import { kills } from "./disturb.ts";

const MAX_SHOWN = 20;

export function reportText(
  { history, differences, disturbances, longestOutage, seconds }: ChaosResult,
  { courier }: Installation,
): string {
  const { counts, longestRestart } = disturbances;
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
    line(
      "Kills",
      `${kills(disturbances)}: ${counts.killed} of the service, ` +
        `${counts.databases} of the database`,
    ),
    line("Pauses, gateway faults", `${counts.paused}, ${counts.gateway}`),
    line(
      "Longest recovery",
      `${inSeconds(longestRestart)} from the kill of an instance until it ` +
        `ran again, ${inSeconds(longestOutage)} from that of the database until a write succeeded`,
    ),
    line("Time", `${seconds.toFixed(0)} s`),
    line("What differed", differences.length === 0 ? "nothing" : `${differences.length} findings`),
    ...differences.slice(0, MAX_SHOWN).map(({ rule, orderId, text }) =>
      `DIFFERENCE  ${rule}${orderId === null ? "" : ` (${orderId})`}: ${text.slice(0, 500)}`
    ),
  ].join("\n");
}

function describeCounts(counts: Installation["courier"]["counts"]): string {
  return Object.entries(counts).map(([name, count]) => `${count} ${name}`).join(", ");
}

function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
