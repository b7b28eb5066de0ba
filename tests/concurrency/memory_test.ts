import assert from "node:assert/strict";

Deno.test("pause and unlessAborted: keep no memory of earlier calls with the same signal", async () => {
  const program = await Deno.makeTempFile({ suffix: ".js" });
  await Deno.writeTextFile(
    program,
    `
    import { pause, unlessAborted } from "${
      new URL("../../concurrency/deadlines.ts", import.meta.url).href
    }";
    const { signal } = globalThis.controller = new AbortController();
    async function wait(times) {
      for (let i = 0; i < times; i++) {
        await pause(60_000, [signal], Promise.resolve());
        await unlessAborted(Promise.resolve(), signal);
      }
      gc();
      return Deno.memoryUsage().heapUsed;
    }
    const before = await wait(10_000);
    console.log((await wait(50_000) - before) / 50_000);`,
  );
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "--no-config", "--no-check", "--v8-flags=--expose-gc", program],
    stderr: "inherit",
  }).output();
  await Deno.remove(program);
  const bytesPerCall = parseFloat(new TextDecoder().decode(stdout));
  // With `Promise.race` and a pending promise, each call would keep more than 300 bytes.
  assert.ok(bytesPerCall < 50, `${bytesPerCall} bytes`);
});
