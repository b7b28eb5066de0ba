import assert from "node:assert/strict";
import { watchProcess } from "./watch.ts";

function startScript(script: string): Deno.ChildProcess {
  return new Deno.Command("sh", {
    args: ["-c", script],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

Deno.test("watchProcess: returns the output and the success of a process", async () => {
  const watched = await watchProcess(startScript("echo one; echo two >&2"), 60_000);
  assert(watched.success);
  assert.deepEqual(watched.isHung, false);
  assert.deepEqual(watched.output.split("\n").sort(), ["", "one", "two"]);
});

Deno.test("watchProcess: says that a process has failed", async () => {
  const watched = await watchProcess(startScript("echo no; exit 3"), 60_000);
  assert.deepEqual(watched, { success: false, output: "no\n", isHung: false });
});

Deno.test("watchProcess: ends a process that prints nothing and lists the processes", async () => {
  const folder = await Deno.makeTempDir();
  const marker = `${folder}/has_printed`;
  const process = startScript(`echo name of a test; touch ${marker}; exec sleep 3600`);
  let seconds = 0;
  const watched = await watchProcess(process, 500, async () => {
    // On a slow machine the shell starts late. Until it has printed, it seems to work.
    const hasPrinted = await Deno.stat(marker).then(() => true, () => false);
    return hasPrinted ? seconds : seconds += 10;
  });
  await Deno.remove(folder, { recursive: true });
  assert.deepEqual([watched.success, watched.isHung], [false, true]);
  assert.match(watched.output, /^name of a test\n\n\*\*\* No output for 0\.5 s\./);
  assert.match(watched.output, /sleep 3600/);
});

Deno.test("watchProcess: waits for a process that prints nothing because it is slow", async () => {
  const process = startScript("kill -STOP $$; echo end");
  let seconds = 0;
  const watched = await watchProcess(process, 10, () => {
    seconds += 10;
    // It is silent several times as long as a process that hangs, and then goes on.
    if (seconds === 50) process.kill("SIGCONT");
    return Promise.resolve(seconds);
  });
  assert.deepEqual(watched, { success: true, output: "end\n", isHung: false });
});

Deno.test("watchProcess: does not wait for a child that keeps the outputs open", async () => {
  const process = startScript("sleep 3600 & echo $!");
  const watched = await watchProcess(process, 60_000);
  Deno.kill(Number(watched.output), "SIGKILL");
  assert.deepEqual([watched.success, watched.isHung], [true, false]);
});
