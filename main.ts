/** The one entry: reads the environment and runs the command asked for; with none, it serves. */

import { Failure } from "./commands/failure.ts";
import { parseConfig } from "./core/config/config.ts";
import { ConfigError } from "./core/config/problems.ts";
import { SETTING_NAMES } from "./core/config/settings.ts";

/** Each is loaded only when it runs, so that no command pays for another's parts. */
const COMMANDS = {
  serve: () => import("./commands/serve.ts"),
  prepare: () => import("./commands/prepare.ts"),
  migrate: () => import("./commands/migrate.ts"),
  keys: () => import("./commands/keys.ts"),
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
    throw new Failure("Permissions are missing: start with `deno task start`, which grants them.");
  }
}

try {
  const [name = "serve", ...args] = Deno.args;
  if (!Object.hasOwn(COMMANDS, name)) {
    throw new Failure(`There is no command "${name}"; there are ${Object.keys(COMMANDS)}.`);
  }
  const command = await COMMANDS[name as keyof typeof COMMANDS]();
  await command.run(readConfig, args);
} catch (error) {
  // What the person at the terminal can mend is told in words, anything else with all it has.
  const isForPeople = error instanceof ConfigError || error instanceof Failure;
  console.error(isForPeople ? error.message : error);
  Deno.exit(1);
}
