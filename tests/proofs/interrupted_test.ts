import assert from "node:assert/strict";
import { createDataFolder, PROJECT } from "../support/project.ts";
import { environment } from "../support/service.ts";
import { inTime } from "../support/until.ts";

/** The command lines of all processes that contain this text. */
async function findProcesses(text: string): Promise<string[]> {
  const { stdout } = await new Deno.Command("ps", { args: ["-A", "-ww", "-o", "args="] }).output();
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line.includes(text));
}

for (
  const [proof, args, hasStarted] of [
    ["chaos", ["--kills", "1000", "--instances", "2"], "All instances are ready"],
    ["fuzz", ["--requests", "1000000"], "The service is ready"],
  ] as const
) {
  Deno.test(`${proof}: Ctrl-C ends everything that was started, and removes its files`, async () => {
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
    for await (const text of process.stdout.pipeThrough(new TextDecoderStream())) {
      output += text;
      if (isInterrupted || !output.includes(hasStarted)) continue;
      isInterrupted = true;
      assert.notDeepEqual(await findProcesses(folder.path), []);
      process.kill("SIGINT");
    }
    const { code } = await inTime("the command has ended", process.status);
    assert.equal(code, 130, output + await errors);
    assert.deepEqual(await findProcesses(folder.path), []);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(folder.path), ({ name }) => name), []);
  });
}
