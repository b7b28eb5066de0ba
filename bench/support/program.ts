/** Starts and stops a program that is measured. */

import { setTimeout as delay } from "node:timers/promises";
import { environment } from "../../tests/support/service.ts";

export interface Program extends AsyncDisposable {
  url: string;
  pid: number;
  output: string;
}

/** The URL in the start message, or in a line of the log. */
const ADDRESS = /^ *(?:API .*?|.*"url":")(http:[^\s"]+)["\s]/m;

/** The output goes to a file, because reading it here would slow down the load. */
export async function startProgram(
  log: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<Program> {
  const process = new Deno.Command("bash", {
    args: ["-c", 'exec "$@" >"$0" 2>&1', log, Deno.execPath(), ...args],
    env: environment(env),
    clearEnv: true,
  }).spawn();
  let hasEnded = false;
  process.status.then(() => hasEnded = true);
  let output = "";
  while (!ADDRESS.test(output)) {
    if (hasEnded) throw new Error(`${args.join(" ")} ended: ${output}`);
    await delay(50);
    output = await Deno.readTextFile(log).catch(() => "");
  }
  return {
    url: output.match(ADDRESS)![1]!.replace(/\/?$/, "/"),
    pid: process.pid,
    output,
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      await process.status;
    },
  };
}

/** The emulated gateway, with all its data in memory. */
export function startSandbox(folder: string, serverKey: string): Promise<Program> {
  return startProgram(`${folder}/sandbox.log`, [
    ...["run", "--allow-net", "--ignore-env", "--ignore-read", "sandbox/main.ts"],
    ...["--port", "0", "--memory", "--server-key", serverKey],
  ]);
}
