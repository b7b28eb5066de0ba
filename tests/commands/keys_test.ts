import assert from "node:assert/strict";
import { run } from "../../commands/keys.ts";
import { Failure } from "../../commands/terminal.ts";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { createDataFolder } from "../support/project.ts";
import { preparedFolder, runTask, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

async function runKeys(settings: Record<string, string>, ...args: string[]) {
  return await runTask(["keys", ...args], settings);
}

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
  const created = await runKeys(settings, "create", "--user", "alice", "--name", "web shop");
  assert.equal(created.code, 0, created.stderr);
  const key = created.stdout.trim();
  assert.match(key, /^gk_[\w-]{43}$/);
  assert.match(created.stderr, /cannot be shown again/);
  assert.equal(JSON.parse((await service.get("/me/", key)).text).user_id, "alice");

  const { stdout: list } = await runKeys(settings, "list");
  assert.ok(!list.includes(key), "the list does not show the key");
  const row = rowOf(list, key);
  assert.deepEqual([row.USER, row.ROLE, row.NAME, row.STATE], [
    "alice",
    "user",
    "web shop",
    "valid",
  ]);
  assert.notEqual(row["LAST USED"], "never");

  const { stdout: revoked } = await runKeys(settings, "revoke", key.slice(0, 11));
  assert.match(revoked, /Revoked gk_\S{8} of user alice/);
  await until("the key is rejected", async () => (await service.get("/me/", key)).status === 401);
  assert.match(rowOf((await runKeys(settings, "list")).stdout, key).STATE!, /^revoked 20/);
});

Deno.test("keys command: creates a key before the first start of the service", async () => {
  await using folder = await createDataFolder();
  const settings = { DATA_DIR: folder.path };
  const created = await runKeys(settings, "create", "--user", "ops", "--staff");
  assert.equal(created.code, 0, created.stderr);
  await using service = await startService({ settings });
  const answer = JSON.parse((await service.get("/me/", created.stdout.trim())).text);
  assert.deepEqual([answer.user_id, answer.is_staff, answer.role], ["ops", true, "staff"]);
});

Deno.test("keys command: several calls at the same time and during a start all succeed", async () => {
  await using folder = await createDataFolder();
  const settings = { DATA_DIR: folder.path };
  const creating = ["a", "b", "c"].map((user) => runKeys(settings, "create", "--user", user));
  await using service = await startService({ settings });
  for (const { code, stdout, stderr } of await Promise.all(creating)) {
    assert.equal(code, 0, stderr);
    assert.equal((await service.get("/me/", stdout.trim())).status, 200);
  }
});

Deno.test("keys command: works with DATABASE_URL, and revokes a key that is given in full", async () => {
  const settings = { DATABASE_URL: await createDatabase(), GATEWAY_SERVER_KEY: "Mid-server-x" };
  const { stdout: key } = await runKeys(settings, "create", "--user", "alice");
  assert.equal((await runKeys(settings, "revoke", key.trim())).code, 0);
  assert.match(rowOf((await runKeys(settings, "list")).stdout, key).STATE!, /^revoked/);
});

Deno.test("keys command: --viewer creates a viewer key, and the list shows the role", async () => {
  const settings = { DATABASE_URL: await createDatabase(), GATEWAY_SERVER_KEY: "Mid-server-x" };
  const { stdout: key } = await runKeys(settings, "create", "--user", "audit", "--viewer");
  assert.equal(rowOf((await runKeys(settings, "list")).stdout, key).ROLE, "viewer");
  await using app = await openApp({ databaseUrl: settings.DATABASE_URL });
  const caller = await (await app.as(key.trim(), "/me/")).json();
  assert.deepEqual([caller.user_id, caller.is_staff, caller.role], ["audit", false, "viewer"]);
});

Deno.test("keys command: --order-prefix reserves order ids for a user, and the list shows it", async () => {
  const settings = { DATABASE_URL: await createDatabase(), GATEWAY_SERVER_KEY: "Mid-server-x" };
  const createFor = (user: string) =>
    runKeys(settings, "create", "--user", user, "--order-prefix", "shop-");
  const { stdout: key } = await createFor("shop");
  assert.equal(rowOf((await runKeys(settings, "list")).stdout, key)["ORDER PREFIX"], "shop-");
  const refused = await createFor("other");
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(refused.stderr, /overlaps with the prefix of another user/);
});

/** Runs the command in this process, which takes far less time. */
async function assertFails(args: string[], message: RegExp): Promise<void> {
  const readConfig = () => assert.fail("the settings are not needed");
  await assert.rejects(run(readConfig, args), (error) => {
    assert.ok(error instanceof Failure, String(error));
    assert.match(error.message, message, args.join(" "));
    return true;
  });
}

Deno.test("keys command: prints one line or the usage for wrong arguments, with exit code 1", async () => {
  const settings = { DATABASE_URL: await createDatabase(), GATEWAY_SERVER_KEY: "Mid-server-x" };
  const unknown = await runKeys(settings, "revoke", "gk_unknown0");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /^No key with prefix gk_unknown0\. .*\n$/);
  const invalidArguments = [
    ...[[], ["create"], ["create", "--user"], ["create", "alice"], ["remove"], ["list", "--staff"]],
    ...[["revoke"], ["revoke", "a", "b"], ["create", "--user", "a", "--admin"]],
  ];
  const usage = await runKeys(settings, ...invalidArguments[1]!);
  assert.deepEqual([usage.code, usage.stdout], [1, ""]);
  assert.match(usage.stderr, /^Usage:/);
  for (const args of invalidArguments) await assertFails(args, /^Usage:/);
  const withPrefix = ["create", "--user", "a", "--order-prefix"];
  await assertFails([...withPrefix, "0ab"], /^--order-prefix must .* begin with a letter\.$/);
  await assertFails([...withPrefix, "abc", "--staff"], /only for keys of users/);
  const both = await runKeys(settings, "create", "--user", "a", "--staff", "--viewer");
  assert.deepEqual([both.code, both.stdout], [1, ""]);
  assert.match(both.stderr, /^A key cannot be both --staff and --viewer\./);
  const unprintable = [["--user", ""], ["--user", " "], ["--user", "a\u001b[31m"], [
    "--user",
    "\u202e",
  ]];
  for (const args of [...unprintable, ["--user", "a", "--name", "b\nc"]]) {
    await assertFails(["create", ...args], /^--user and --name must be/);
  }
});
