/**
 * Emulates Deno Deploy: its version of Deno, fewer permissions, and the address that it chooses.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { copyProject, createDataFolder } from "./project.ts";
import { DOWNLOAD_ENV, environment, type ServiceProcess, startService } from "./service.ts";

/**
 * Deno Deploy runs Deno 2.5. For ARM, npm has no 2.5; the newest version before it has fewer APIs,
 * so a program that works with it works with 2.5.
 */
const VERSIONS: Record<string, string> = { x86_64: "2.5.0", aarch64: "2.3.7" };

/** Files cannot be written, nor programs run. Deno Deploy permits both, but keeps no changes. */
const PERMISSIONS = ["--allow-net", "--allow-env", "--allow-read", "--allow-sys=homedir"];

export interface Deployment extends AsyncDisposable {
  /** The command line that runs a file of the deployed project. */
  command(file?: string): string[];
  /** The folder of the deployed project. */
  folder: string;
  /** Whether its Deno can import text files, as Deno 2.5 can. */
  canImportText: boolean;
  start(settings?: Record<string, string>): Promise<ServiceProcess>;
}

/** A copy of the project whose configuration does not turn on Deno KV. */
export async function createDeployment(): Promise<Deployment> {
  const folder = await createDataFolder();
  await copyProject(folder.path);
  const path = join(folder.path, "deno.json");
  const config = JSON.parse(await Deno.readTextFile(path));
  const unstable = config.unstable.filter((name: string) => name !== "kv");
  await Deno.writeTextFile(path, JSON.stringify({ ...config, unstable }));
  const deno = await findDeno();
  const command = (file = "main.ts") => [deno, "run", "--no-prompt", ...PERMISSIONS, file];
  return {
    folder: folder.path,
    canImportText: VERSIONS[Deno.build.arch]! >= "2.5",
    command,
    async start(settings = {}) {
      return await startService({
        cwd: folder.path,
        command: command(),
        settings: {
          ...DOWNLOAD_ENV,
          DENO_DEPLOY: "true",
          // Where `Deno.serve` listens, independent of its arguments.
          DENO_SERVE_ADDRESS: "tcp:127.0.0.1:0",
          ...settings,
        },
      });
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** Downloads this version of Deno with npm, and returns the path of its program. */
async function findDeno(): Promise<string> {
  const version = VERSIONS[Deno.build.arch];
  const { success, stdout, stderr } = await new Deno.Command("npx", {
    args: ["-y", `deno@${version}`, "eval", "console.log(Deno.execPath())"],
    env: environment({ DENO_NO_UPDATE_CHECK: "1" }),
    clearEnv: true,
    stdin: "null",
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}
