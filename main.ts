/** The entry point: reads the environment and runs a command, `serve` by default. */

import { Failure } from "./commands/terminal.ts";
import { parseConfig } from "./core/config/config.ts";
import { ConfigError } from "./core/config/problems.ts";
import { SETTING_NAMES } from "./core/config/settings.ts";

/** Imported on demand, so that a command loads only its own modules. */
const COMMANDS = {
  serve: () => import("./commands/serve.ts"),
  prepare: () => import("./commands/prepare.ts"),
  migrate: () => import("./commands/migrate.ts"),
  keys: () => import("./commands/keys.ts"),
  account: () => import("./commands/account.ts"),
  run: () => import("./commands/run_task.ts"),
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

try {
  const [name = "serve", ...args] = Deno.args;
  if (!Object.hasOwn(COMMANDS, name)) {
    throw new Failure(`Unknown command "${name}". Commands: ${Object.keys(COMMANDS).join(", ")}.`);
  }
  const command = await COMMANDS[name as keyof typeof COMMANDS]();
  await command.run(readConfig, args);
} catch (error) {
  // The message is enough for an error that the operator can fix; others are printed with the stack.
  const isForOperator = error instanceof ConfigError || error instanceof Failure;
  console.error(isForOperator ? error.message : error);
  Deno.exit(1);
}
