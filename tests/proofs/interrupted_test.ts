import assert from "node:assert/strict";
import { createDataFolder, PROJECT } from "../support/project.ts";
import { environment } from "../support/service.ts";
import { inTime, until } from "../support/until.ts";

/** The command lines of all processes that contain this text. */
async function findProcesses(text: string): Promise<string[]> {
  const { stdout } = await new Deno.Command("ps", { args: ["-A", "-ww", "-o", "args="] }).output();
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line.includes(text));
}

const CHAOS = ["chaos", "--kills", "1000", "--instances", "2"];
const FUZZ = ["fuzz", "--requests", "1000000"];

for (
  const [when, [proof, ...args], text] of [
    ["during a run of chaos", CHAOS, "All instances are ready"],
    ["while chaos starts", CHAOS, "Starting"],
    ["during a run of fuzz", FUZZ, "The service is ready"],
  ] as const
) {
  Deno.test(`proofs: Ctrl-C ${when} ends everything that was started, and removes its files`, async () => {
    await using folder = await createDataFolder();
    const command = new Deno.Command(Deno.execPath(), {
      args: ["run", "-q", "--no-lock", "-P=test", `proofs/${proof}/run.ts`, ...args],
      env: environment({ TMPDIR: folder.path }),
      clearEnv: true,
      cwd: PROJECT,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
    await using process = command.spawn();
    const errors = new Response(process.stderr).text();
    let output = "";
    let isInterrupted = false;
    for await (const part of process.stdout.pipeThrough(new TextDecoderStream())) {
      output += part;
      if (isInterrupted || !output.includes(text)) continue;
      isInterrupted = true;
      await until(
        "a process works in the folder",
        async () => (await findProcesses(folder.path)).length > 0,
      );
      process.kill("SIGINT");
    }
    const { code } = await inTime("the command has ended", process.status);
    assert.equal(code, 130, output + await errors);
    assert.deepEqual(await findProcesses(folder.path), []);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(folder.path), ({ name }) => name), []);
  });
}
