/** The SDK as an application uses it: built, packed and installed in an empty folder. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT } from "./project.ts";
import { DOWNLOAD_ENV, environment, runTask } from "./service.ts";
import { TYPESCRIPT } from "./tools.ts";

/** Operations for the gateway, load balancers and monitoring, which client programs do not need. */
export const NOT_IN_SDK = ["getLiveness", "getReadiness", "receiveNotification", "getMetrics"];

export interface Consumer extends AsyncDisposable {
  path: string;
  /** The names of the files in the npm archive. */
  archivedFiles: string[];
  /** Checks TypeScript with strict options, and writes JavaScript for Node next to it. */
  compile(files: string[]): Promise<void>;
  /** Runs `name.js` with Node, or `name.ts` with Deno; returns what it printed. */
  run(runtime: "node" | "deno", name: string, settings: Record<string, string>): Promise<string>;
}

/** Creates a folder with only the SDK, installed from its archive, and `files`. */
export async function createConsumer(files: Record<string, string>): Promise<Consumer> {
  const path = await Deno.makeTempDir({ prefix: "payment-gateway-consumer-" });
  const { code, stdout, stderr } = await runTask(["sdk", join(path, "dist")], DOWNLOAD_ENV);
  assert.equal(code, 0, stdout + stderr);
  const npm = async (args: string[], cwd: string) =>
    await runProgram(
      "npm",
      [...args, "--ignore-scripts", "--no-audit", "--no-fund", "--silent"],
      cwd,
    );
  const packOutput = await npm(["pack", "--json", "--pack-destination", path], stdout.trim());
  const [archive] = JSON.parse(packOutput) as { filename: string; files: { path: string }[] }[];
  await Deno.remove(join(path, "dist"), { recursive: true });
  await Deno.writeTextFile(join(path, "package.json"), '{ "private": true, "type": "module" }');
  await npm(["install", "--offline", `./${archive!.filename}`], path);
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(join(path, name), text);
  }
  return {
    path,
    archivedFiles: archive!.files.map((file) => file.path).sort(),
    async compile(files) {
      const options = ["--strict", "--noUncheckedIndexedAccess", "--module", "nodenext"];
      const lib = ["--target", "es2023", "--lib", "es2023,dom,dom.asynciterable"];
      const tsc = ["run", "-q", "-A", "--no-lock", "--no-config", `${TYPESCRIPT}/tsc`];
      await runProgram(Deno.execPath(), [...tsc, ...options, ...lib, ...files], path);
    },
    async run(runtime, name, settings) {
      // Deno resolves types differently from tsc, so it also checks one program.
      const check = name === "consumer" ? ["--check"] : [];
      const deno = ["run", "-q", ...check, "--no-lock", "--node-modules-dir=manual"];
      const permissions = ["--allow-net=127.0.0.1", "--allow-env"];
      return runtime === "node"
        ? await runProgram("node", [`${name}.js`], path, settings)
        : await runProgram(
          Deno.execPath(),
          [...deno, ...permissions, `${name}.ts`],
          path,
          settings,
        );
    },
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

/** Joins the TypeScript code blocks of a Markdown file into one program. */
export async function joinCodeBlocks(path: string): Promise<string> {
  const readme = await Deno.readTextFile(join(PROJECT, path));
  return [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code).join("\n");
}

/** Fails the test if the exit code is not 0; returns the standard output. */
async function runProgram(
  program: string,
  args: string[],
  cwd: string,
  settings: Record<string, string> = {},
): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args,
    cwd,
    env: environment({ ...DOWNLOAD_ENV, ...settings }),
    clearEnv: true,
    stdin: "null",
  }).output();
  const [output, errorOutput] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert.equal(code, 0, `${program} ${args.join(" ")}\n${output}${errorOutput}`);
  return output!;
}
