import assert from "node:assert/strict";
import { callService } from "../support/client.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openSandbox } from "../support/gateway/sandbox.ts";
import { preparedFolder, runTask, startError, startService } from "../support/service.ts";

const STAFF_KEY = `gk_${"a".repeat(43)}`;

const KEYS = ["Mid-server-of-account-one", "Mid-server-of-account-two"] as const;

Deno.test("service: refuses to start with another account or environment, until `account change`", async () => {
  const databaseUrl = await createDatabase();
  await using firstSandbox = await openSandbox({ seed: 1, serverKey: KEYS[0] });
  await using secondSandbox = await openSandbox({ seed: 2, serverKey: KEYS[1] });
  const settingsOf = (url: string, key: string) => ({
    DATABASE_URL: databaseUrl,
    GATEWAY_BASE_URL: url,
    GATEWAY_SERVER_KEY: key,
    BOOTSTRAP_STAFF_KEY: STAFF_KEY,
    HOST: "127.0.0.1",
    PORT: "0",
  });
  const firstSettings = settingsOf(firstSandbox.url, KEYS[0]);
  const secondSettings = settingsOf(secondSandbox.url, KEYS[1]);
  const readPayments = async () => await runSql(databaseUrl, "select * from gateway.payments");
  {
    await using service = await startService({ settings: firstSettings });
    const response = await callService(`${service.url}/charge/`, {
      method: "POST",
      headers: { "Authorization": `Bearer ${STAFF_KEY}`, "Content-Type": "application/json" },
      body: JSON.stringify({ payment_type: "bank_transfer", bank: "bca", gross_amount: 10_000 }),
    });
    assert.equal(response.status, 201, await response.text());
  }
  const before = await readPayments();

  for (const task of [["start"], ["run", "check_pending_payments"]]) {
    const refused = await runTask(task, secondSettings);
    assert.equal(refused.code, 1, refused.stderr);
    const error = task[0] === "start" ? startError(refused.stderr) : refused.stderr;
    assert.match(error, /another gateway account[^]*deno task account change/);
  }
  const production = await runTask(["start"], { ...firstSettings, GATEWAY_ENV: "production" });
  assert.equal(production.code, 1);
  assert.match(
    startError(production.stderr),
    /environment "sandbox", but the settings are for "production"/,
  );
  assert.deepEqual(await readPayments(), before);

  const [account] = await runSql(databaseUrl, "select merchant_id from gateway.gateway_account");
  const shown = await runTask(["account"], secondSettings);
  assert.equal(shown.stdout, `Environment  sandbox\nMerchant     ${account!.merchant_id}\n`);
  const { code, stdout } = await runTask(["account", "change"], secondSettings);
  assert.deepEqual([code, stdout], [
    0,
    "Environment  sandbox\nMerchant     not set until the gateway's next response\n",
  ]);
  await using service = await startService({ settings: secondSettings });
  assert.equal((await service.get("/health/ready/")).status, 200);
});

Deno.test("service: does not start with a real account on an embedded database that was used with the sandbox", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  {
    await using _service = await startService({ settings });
  }
  const realSettings = { ...settings, GATEWAY_SERVER_KEY: "Mid-server-real", PORT: "0" };
  const { code, stderr } = await runTask(["start"], realSettings);
  assert.equal(code, 1);
  assert.match(startError(stderr), /environment "embedded", but the settings are for "sandbox"/);
  const { stdout } = await runTask(["account"], settings);
  assert.equal(
    stdout,
    "Environment  embedded\nMerchant     none, because the sandbox is not checked\n",
  );
});

Deno.test("account: prints its usage for unknown arguments", async () => {
  const settings = { DATABASE_URL: await createDatabase(), GATEWAY_SERVER_KEY: KEYS[0] };
  const { code, stderr } = await runTask(["account", "remove"], settings);
  assert.equal(code, 1);
  assert.match(stderr, /^Usage:\n {2}account /);
});
