/**
 * `deno task verify-gateway`: compares the gateway's own sandbox with what this project assumes
 * about it. Exit codes: 0 no difference, 1 differences, 2 cannot run.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Config, GatewayConfig } from "../../core/config/config.ts";
import { systemClock } from "../../core/time/clock.ts";
import { createProgress, Failure, printError } from "../terminal.ts";
import type { RecordingFile } from "./recordings.ts";
import { reportJson, reportText } from "./report.ts";
import type { Person } from "./session.ts";
import { STEPS } from "./steps.ts";
import { verifyGateway } from "./verify.ts";

const USAGE = `Usage:
  verify-gateway [--json] [--keys-without-prefix]
      run each operation at the gateway's sandbox and at the emulator of this project, and compare
      the responses; creates payments in the gateway's sandbox, with the keys in GATEWAY_SERVER_KEY
      and GATEWAY_CLIENT_KEY; exit code 0: no difference, 1: differences, 2: cannot run
      --json                  print the report as JSON; steps that need a person are not run
      --keys-without-prefix   the account's sandbox keys do not begin with SB-`;

/** In the data folder. */
const RECORDINGS_FILE = "gateway-recordings.json";

const [DIFFERENCES, CANNOT_RUN] = [1, 2];

export async function run(readConfig: () => Config, args: string[]): Promise<void> {
  try {
    Deno.exitCode = await verify(readConfig, args);
  } catch (error) {
    printError(error);
    Deno.exitCode = CANNOT_RUN;
  }
}

async function verify(readConfig: () => Config, args: string[]): Promise<number> {
  const { json = false, "keys-without-prefix": mayLackPrefix = false } = parse(args);
  const { gateway, dataDir } = readConfig();
  requireSandbox(gateway, mayLackPrefix);
  const path = join(dataDir, RECORDINGS_FILE);
  await Deno.mkdir(dataDir, { recursive: true });
  const progress = createProgress("Steps");
  let done = 0;
  const verification = await verifyGateway({
    gateway,
    person: !json && Deno.stdin.isTerminal() ? askAtTerminal : null,
    onResult: () => progress.show(++done, STEPS.length),
  }).finally(() => progress.end());
  const { recordings, results } = verification;
  const recorded_at = new Date(systemClock()).toISOString();
  const file: RecordingFile = { format: 1, recorded_at, gateway: gateway.baseUrl, recordings };
  await Deno.writeTextFile(path, JSON.stringify(file, null, 2) + "\n");
  const head = { gateway: gateway.baseUrl, recordings: path };
  console.log(json ? reportJson(verification, head) : reportText(verification, head));
  return results.some(({ result }) => result === "differs") ? DIFFERENCES : 0;
}

function parse(args: string[]) {
  const type = "boolean";
  try {
    return parseArgs({ args, options: { json: { type }, "keys-without-prefix": { type } } }).values;
  } catch {
    throw new Failure(USAGE);
  }
}

const SANDBOX_HOST = "api.sandbox.midtrans.com";

/** The steps charge cards and cancel payments, so they must never run in production. */
function requireSandbox(gateway: GatewayConfig, mayLackPrefix: boolean): void {
  const { environment, baseUrl, serverKey, clientKey } = gateway;
  if (environment === "embedded") {
    throw new Failure(
      "Set GATEWAY_SERVER_KEY and GATEWAY_CLIENT_KEY to keys of the gateway's sandbox.",
    );
  }
  const host = new URL(baseUrl).hostname.replace(/\.$/, "");
  const isProductionHost = /(^|\.)midtrans\.com$/.test(host) && !/(^|\.)sandbox\./.test(host);
  if (environment === "production" || isProductionHost) {
    throw new Failure(
      "verify-gateway creates charges, so it does not run in production. Set GATEWAY_ENV=sandbox, " +
        "remove GATEWAY_BASE_URL, and use keys of the gateway's sandbox.",
    );
  }
  const keys = { GATEWAY_SERVER_KEY: serverKey, GATEWAY_CLIENT_KEY: clientKey };
  for (const [name, key] of Object.entries(keys)) {
    if (key === null || key.startsWith("SB-")) continue;
    // This host accepts no production keys.
    if (mayLackPrefix && host === SANDBOX_HOST) continue;
    throw new Failure(
      `${name} does not begin with SB-, so it may be a production key. verify-gateway runs only ` +
        "with keys of the gateway's sandbox. If the sandbox keys of your account have no prefix, " +
        `add --keys-without-prefix, which works only at ${SANDBOX_HOST}.`,
    );
  }
}

const askAtTerminal: Person = ({ text }) => {
  const reply = prompt(`\n${text}\nThen press Enter, or enter s to skip this step:`);
  return reply !== null && reply.trim().toLowerCase() !== "s";
};
