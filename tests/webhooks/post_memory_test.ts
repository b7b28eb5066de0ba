import assert from "node:assert/strict";

const PROGRAM = new URL("../support/events/failing_posts.ts", import.meta.url).pathname;

const POSTS = 500;

/** A socket that is never freed takes more than 10,000 bytes. */
const MAX_BYTES_PER_POST = 3_000;

for (const way of ["refused", "refused by two addresses", "unresolved", "silent"]) {
  Deno.test(`post: keeps no memory if the connection fails (${way})`, async () => {
    const { stdout, success } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-q", "--no-lock", "--no-check", "--allow-net", "--v8-flags=--expose-gc"],
        ...[PROGRAM, way, String(POSTS)],
      ],
      stderr: "inherit",
    }).output();
    assert.ok(success);
    const bytes = Number(new TextDecoder().decode(stdout));
    assert.ok(bytes < MAX_BYTES_PER_POST, `${bytes} bytes per post`);
  });
}
