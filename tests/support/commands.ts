/** Runs commands of the service in the process of the test, which is faster than a new process. */

import { run as runAccount } from "../../commands/account.ts";
import { run as runAfterRestore } from "../../commands/after_restore.ts";
import { run as runDoctor } from "../../commands/doctor.ts";
import { run as runKeys } from "../../commands/keys.ts";
import { run as runMigrate } from "../../commands/migrate.ts";
import { run as runJobs } from "../../commands/run_task.ts";
import { run as runVerify } from "../../commands/verify/command.ts";
import { Failure } from "../../commands/terminal.ts";
import { parseConfig } from "../../core/config/config.ts";
import { DEADLINE } from "../../db/connection/settings.ts";
import { PATIENT_DEADLINE_MS } from "./database/pools.ts";
import type { Outcome } from "./service.ts";

const COMMANDS = {
  account: runAccount,
  "after-restore": runAfterRestore,
  doctor: runDoctor,
  keys: runKeys,
  migrate: runMigrate,
  run: runJobs,
  "verify-gateway": runVerify,
};

/** The command must use no embedded database, and nothing else may print at the same time. */
export async function runInProcess(
  [name, ...args]: [keyof typeof COMMANDS, ...string[]],
  settings: Record<string, string>,
): Promise<Outcome> {
  const outcome = { code: 0, stdout: "", stderr: "" };
  const { log, error } = console;
  const { ms } = DEADLINE;
  DEADLINE.ms = PATIENT_DEADLINE_MS;
  console.log = (line) => outcome.stdout += `${line}\n`;
  console.error = (line) => outcome.stderr += `${line}\n`;
  try {
    await COMMANDS[name](() => parseConfig(settings, "/nowhere"), args);
    outcome.code = Deno.exitCode;
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure;
    outcome.code = 1;
    outcome.stderr += `${failure.message}\n`;
  } finally {
    Object.assign(console, { log, error });
    Deno.exitCode = 0;
    DEADLINE.ms = ms;
  }
  return outcome;
}
