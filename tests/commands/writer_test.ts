import assert from "node:assert/strict";
import { createWriter } from "../../commands/writer.ts";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

Deno.test("writer: writes everything in order when writes are partial", async () => {
  let written = "";
  const writer = createWriter((bytes) => {
    written += text(bytes.subarray(0, 3));
    return Promise.resolve(Math.min(3, bytes.length));
  });
  for (const line of ["one\n", "two\n", "three\n"]) writer.write(line);
  await writer.drained();
  assert.equal(written, "one\ntwo\nthree\n");
});

Deno.test("writer: without a reader, does not block, drops lines above its limit and reports the number of dropped bytes", async () => {
  const reader = Promise.withResolvers<void>();
  let written = "";
  const writer = createWriter(async (bytes) => {
    await reader.promise;
    written += text(bytes);
    return bytes.length;
  }, 20);
  writer.write("first\n");
  for (let i = 0; i < 10; i++) writer.write("0123456789\n");
  reader.resolve();
  await writer.drained();
  const [first, kept, report] = written.trimEnd().split("\n");
  assert.deepEqual([first, kept], ["first", "0123456789"]);
  assert.deepEqual(JSON.parse(report!), { level: "error", event: "log_dropped", dropped: 99 });
});

Deno.test("writer: continues after a write fails", async () => {
  const writer = createWriter(() => Promise.reject(new Error("EPIPE")));
  writer.write("lost\n");
  await writer.drained();
  writer.write("lost, too\n");
  await writer.drained();
});
