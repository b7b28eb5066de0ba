/** The message of a service that has started, for the person at the terminal. */

import { VERSION } from "../openapi/document.ts";
import type { DevelopmentKeys } from "./development_keys.ts";

export interface StartMessage {
  url: string;
  build: string | null;
  /** Such as "production"; null: the sandbox that this process runs. */
  gateway: string | null;
  /** The address of the sandbox that this process runs, if any. */
  sandbox: string | null;
  /** What a newcomer tries first; null unless this is the embedded default. */
  firstSteps: { demo: string | null; keys: DevelopmentKeys } | null;
}

export function printStartMessage(message: StartMessage): void {
  const { url, build, gateway, sandbox, firstSteps } = message;
  const lines: string[] = [];
  const styles: string[] = [];
  /** A line of which the part between two `%c` has a style. */
  function add(line: string, style: string) {
    lines.push(line);
    styles.push(style, "");
  }
  const link = (name: string, address: string, note = "") =>
    add(`  ${name.padEnd(12)}%c${address}%c${note && `   ${note}`}`, "color: cyan");

  const version = build === null ? VERSION : `${VERSION}, build ${build}`;
  add(`\n  %cPayment Gateway Integration Service%c is running (${version})\n`, "font-weight: bold");
  link("API", `${url}/`);
  link("Reference", `${url}/reference`);
  link("Console", `${url}/console/`, "for staff");
  if (sandbox) link("Sandbox", `${sandbox}/`, "emulated gateway, no real money");
  if (gateway) lines.push(`  Gateway     ${gateway}`);
  if (firstSteps) {
    const { demo, keys } = firstSteps;
    if (demo) link("Demo", demo, "pay as a customer");
    lines.push(
      "",
      "  Development keys (valid on this machine only)",
      `  user        ${keys.user}`,
      `  staff       ${keys.staff}`,
      "",
      "  Create a payment",
    );
    add(
      `  %ccurl ${url}/charge/ -H 'Authorization: Bearer ${keys.user}' -H 'Content-Type: application/json' \\\n` +
        `    -d '{ "payment_type": "bank_transfer", "bank": "bca", "gross_amount": 44000 }'%c`,
      "color: green",
    );
  }
  lines.push("", "  Press Ctrl-C to stop.", "");
  console.log(lines.join("\n"), ...styles);
}
