/** A program under measurement: started, waited for, ended. */

import { setTimeout as delay } from "node:timers/promises";
import { environment } from "../../tests/support/service.ts";

export interface Program extends AsyncDisposable {
  url: string;
  output: string;
}

/** Where it listens, as a newcomer is told it or as a log has it. */
const ADDRESS = /^ *(?:API .*?|.*"url":")(http:[^\s"]+)["\s]/m;

/** Its output goes to a file, as in production: reading it here would cost the load its speed. */
export async function startProgram(
  log: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<Program> {
  const process = new Deno.Command("bash", {
    args: ["-c", 'exec "$@" >"$0"', log, Deno.execPath(), ...args],
    env: environment(env),
    clearEnv: true,
  }).spawn();
  let hasEnded = false;
  process.status.then(() => hasEnded = true);
  let output = "";
  while (!ADDRESS.test(output)) {
    if (hasEnded) throw new Error(`${args.join(" ")} ended by itself: ${output}`);
    await delay(50);
    output = await Deno.readTextFile(log).catch(() => "");
  }
  return {
    url: output.match(ADDRESS)![1]!.replace(/\/?$/, "/"),
    output,
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      await process.status;
    },
  };
}
