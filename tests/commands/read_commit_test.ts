import assert from "node:assert/strict";
import { join } from "node:path";
import { readCommit } from "../../commands/read_commit.ts";
import { createDatabase } from "../support/database/database.ts";
import { copyProject, createDataFolder } from "../support/project.ts";
import { START_TASK, startService } from "../support/service.ts";

const COMMIT = "ee3612b0a1c0f7be2d3c5a6978e0b1c2d3e4f506";
const OTHER = "4e336d95a1c0f7be2d3c5a6978e0b1c2d3e4f506";

/** The files below `.git` of a checkout, and its commit. */
const CHECKOUTS: Record<string, [files: Record<string, string>, commit: string | null]> = {
  "a branch": [{ HEAD: "ref: refs/heads/main\n", "refs/heads/main": `${COMMIT}\n` }, COMMIT],
  "a packed branch": [{
    HEAD: "ref: refs/heads/main\n",
    "packed-refs":
      `# pack-refs with: peeled\n${OTHER} refs/heads/a/main\n${COMMIT} refs/heads/main\n`,
  }, COMMIT],
  "a branch that is newer than its packed commit": [{
    HEAD: "ref: refs/heads/main\n",
    "refs/heads/main": `${COMMIT}\n`,
    "packed-refs": `${OTHER} refs/heads/main\n`,
  }, COMMIT],
  "no branch": [{ HEAD: `${COMMIT}\n` }, COMMIT],
  "a branch without a commit": [{ HEAD: "ref: refs/heads/main\n" }, null],
  "no checkout": [{}, null],
};

for (const [what, [files, commit]] of Object.entries(CHECKOUTS)) {
  Deno.test(`commit: is ${commit ? "read" : "null"} for ${what}`, async () => {
    const folder = await Deno.makeTempDir({ prefix: "payment-gateway-commit-" });
    try {
      await Deno.mkdir(join(folder, ".git/refs/heads"), { recursive: true });
      for (const [name, text] of Object.entries(files)) {
        await Deno.writeTextFile(join(folder, ".git", name), text);
      }
      assert.equal(await readCommit(folder), commit);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

Deno.test("status: shows the commit of the checkout from which the service was started", async () => {
  const staffKey = "gk_" + "c".repeat(43);
  await using folder = await createDataFolder();
  await copyProject(folder.path);
  await Deno.mkdir(join(folder.path, ".git"));
  await Deno.writeTextFile(join(folder.path, ".git/HEAD"), `${COMMIT}\n`);
  await using service = await startService({
    cwd: folder.path,
    command: START_TASK,
    settings: {
      HOST: "127.0.0.1",
      DATABASE_URL: await createDatabase(),
      GATEWAY_BASE_URL: "http://127.0.0.1:2",
      GATEWAY_SERVER_KEY: "Mid-server-commit",
      BOOTSTRAP_STAFF_KEY: staffKey,
    },
  });
  const { text } = await service.get("/status/", staffKey);
  assert.equal(JSON.parse(text).build, COMMIT);
});
