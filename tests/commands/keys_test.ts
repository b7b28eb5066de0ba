import assert from "node:assert/strict";
import { openApp } from "../support/app.ts";
import { runInProcess } from "../support/commands.ts";
import { createDatabase } from "../support/database/database.ts";
import { createDataFolder } from "../support/project.ts";
import { preparedFolder, runCommand, runTask, startService } from "../support/service.ts";
import { isPartial } from "../support/share.ts";
import { until } from "../support/until.ts";

/** The row of a key in `keys list`, by column. */
function rowOf(list: string, key: string): Record<string, string> {
  const [head, ...rows] = list.trimEnd().split("\n").map((line) => line.split(/ {2,}/));
  const row = rows.find(([prefix]) => prefix && key.startsWith(prefix));
  assert.ok(row, `${key.slice(0, 11)} is listed in\n${list}`);
  return Object.fromEntries(head!.map((name, column) => [name, row[column]!]));
}

Deno.test("keys command: creates, lists and revokes keys while the embedded service runs", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path, RATE_LIMIT_BURST: "1000000" };
  await using service = await startService({ settings });
  const create = ["keys", "create", "--user", "alice", "--name", "web shop"];
  const created = await runTask(create, settings);
  assert.equal(created.code, 0, created.stderr);
  const key = created.stdout.trim();
  assert.match(key, /^gk_[\w-]{43}$/);
  assert.match(created.stderr, /cannot be shown again/);
  assert.equal(JSON.parse((await service.get("/me/", key)).text).user_id, "alice");

  const { stdout: list } = await runCommand(["keys", "list"], settings);
  assert.ok(!list.includes(key), "the list does not show the key");
  const row = rowOf(list, key);
  assert.deepEqual([row.USER, row.ROLE, row.NAME, row.STATE], [
    "alice",
    "user",
    "web shop",
    "valid",
  ]);
  assert.notEqual(row["LAST USED"], "never");

  const { stdout: revoked } = await runCommand(["keys", "revoke", key.slice(0, 11)], settings);
  assert.match(revoked, /Revoked gk_\S{8} of user alice/);
  await until("the key is rejected", async () => (await service.get("/me/", key)).status === 401);
});

Deno.test(
  "keys command: creates keys before the first start of the service, at the same time and during a start",
  { ignore: isPartial },
  async () => {
    await using folder = await createDataFolder();
    const settings = { DATA_DIR: folder.path };
    const first = await runTask(["keys", "create", "--user", "ops", "--staff"], settings);
    assert.equal(first.code, 0, first.stderr);
    const creating = ["a", "b"].map((user) =>
      runCommand(["keys", "create", "--user", user], settings)
    );
    await using service = await startService({ settings });
    const answer = JSON.parse((await service.get("/me/", first.stdout.trim())).text);
    assert.deepEqual([answer.user_id, answer.is_staff, answer.role], ["ops", true, "staff"]);
    for (const { code, stdout, stderr } of await Promise.all(creating)) {
      assert.equal(code, 0, stderr);
      assert.equal((await service.get("/me/", stdout.trim())).status, 200);
    }
  },
);

const databaseUrl = await createDatabase();

/** Runs the command with `DATABASE_URL`. */
async function runKeys(...args: string[]) {
  const settings = { DATABASE_URL: databaseUrl, GATEWAY_SERVER_KEY: "Mid-server-x" };
  return await runInProcess(["keys", ...args], settings);
}

Deno.test("keys command: works with DATABASE_URL, and revokes a key that is given in full", async () => {
  const { stdout: key } = await runKeys("create", "--user", "alice");
  assert.equal((await runKeys("revoke", key.trim())).code, 0);
  assert.match(rowOf((await runKeys("list")).stdout, key).STATE!, /^revoked 20/);
});

Deno.test("keys command: --viewer creates a viewer key, and the list shows the role", async () => {
  const { stdout: key } = await runKeys("create", "--user", "audit", "--viewer");
  assert.equal(rowOf((await runKeys("list")).stdout, key).ROLE, "viewer");
  await using app = await openApp({ databaseUrl });
  const caller = await (await app.as(key.trim(), "/me/")).json();
  assert.deepEqual([caller.user_id, caller.is_staff, caller.role], ["audit", false, "viewer"]);
});

Deno.test("keys command: --order-prefix reserves order ids for a user, and the list shows it", async () => {
  const createFor = (user: string) => runKeys("create", "--user", user, "--order-prefix", "shop-");
  const { stdout: key } = await createFor("shop");
  assert.equal(rowOf((await runKeys("list")).stdout, key)["ORDER PREFIX"], "shop-");
  const refused = await createFor("other");
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(refused.stderr, /overlaps with the prefix of another user/);
});

/** Asserts the error of a command that does not get as far as its settings. */
async function assertFails(args: string[], message: RegExp): Promise<void> {
  const { code, stdout, stderr } = await runInProcess(["keys", ...args], INVALID_SETTINGS);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, message, args.join(" "));
}

const INVALID_SETTINGS = { DATABASE_URL: "x" };

Deno.test("keys command: prints one line or the usage for wrong arguments, with exit code 1", async () => {
  const usage = await runCommand(["keys", "create"], { DATABASE_URL: databaseUrl });
  assert.deepEqual([usage.code, usage.stdout], [1, ""]);
  assert.match(usage.stderr, /^Usage:/);
  const unknown = await runKeys("revoke", "gk_unknown0");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /^No key with prefix gk_unknown0\. .*\n$/);
  const invalidArguments = [
    ...[[], ["create"], ["create", "--user"], ["create", "alice"], ["remove"], ["list", "--staff"]],
    ...[["revoke"], ["revoke", "a", "b"], ["create", "--user", "a", "--admin"]],
  ];
  for (const args of invalidArguments) await assertFails(args, /^Usage:/);
  const withPrefix = ["create", "--user", "a", "--order-prefix"];
  await assertFails([...withPrefix, "0ab"], /^--order-prefix must .* begin with a letter\.$/m);
  await assertFails([...withPrefix, "abc", "--staff"], /only for keys of users/);
  const both = ["create", "--user", "a", "--staff", "--viewer"];
  await assertFails(both, /^A key cannot be both --staff and --viewer\./);
  const unprintable = [["--user", ""], ["--user", " "], ["--user", "a\u001b[31m"], [
    "--user",
    "\u202e",
  ]];
  for (const args of [...unprintable, ["--user", "a", "--name", "b\nc"]]) {
    await assertFails(["create", ...args], /^--user and --name must be/);
  }
});
