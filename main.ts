/** The entry point: reads the environment and runs a command, `serve` by default. */

import { registerCrons } from "./commands/crons.ts";
import { Failure, printError, printStartError } from "./commands/terminal.ts";
import { parseConfig } from "./core/config/config.ts";
import { SETTING_NAMES } from "./core/config/settings.ts";

/** Imported on demand, so that a command loads only its own modules. */
const COMMANDS = {
  serve: () => import("./commands/serve.ts"),
  prepare: () => import("./commands/prepare.ts"),
  migrate: () => import("./commands/migrate.ts"),
  keys: () => import("./commands/keys.ts"),
  account: () => import("./commands/account.ts"),
  "after-restore": () => import("./commands/after_restore.ts"),
  run: () => import("./commands/run_task.ts"),
  demo: () => import("./commands/demo/command.ts"),
  doctor: () => import("./commands/doctor.ts"),
  "verify-gateway": () => import("./commands/verify/command.ts"),
  openapi: () => import("./commands/openapi.ts"),
};

function readConfig() {
  return parseConfig(readEnvironment(), import.meta.dirname!);
}

function readEnvironment() {
  try {
    return Object.fromEntries(SETTING_NAMES.map((name) => [name, Deno.env.get(name)]));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    throw new Failure("Permissions are missing. Start with `deno task start`, which grants them.");
  }
}

const [name = "serve", ...args] = Deno.args;
// Before anything is awaited: Deno Deploy finds the crons by evaluating this file.
const crons = name === "serve" ? registerCrons() : undefined;
try {
  if (!Object.hasOwn(COMMANDS, name)) {
    throw new Failure(`Unknown command "${name}". Commands: ${Object.keys(COMMANDS).join(", ")}.`);
  }
  const command = await COMMANDS[name as keyof typeof COMMANDS]();
  await command.run(readConfig, args, crons);
} catch (error) {
  // A supervisor may run these two and expect JSON; an operator runs the others in a terminal.
  if (name === "serve" || name === "prepare") printStartError(error);
  else printError(error);
  Deno.exit(1);
}
