import assert from "node:assert/strict";
import { callService } from "../support/client.ts";
import { runInProcess } from "../support/commands.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openSandbox } from "../support/gateway/sandbox.ts";
import {
  preparedFolder,
  runCommand,
  startError,
  startService,
  untilReady,
} from "../support/service.ts";

const STAFF_KEY = `gk_${"a".repeat(43)}`;

const KEYS = ["Mid-server-of-account-one", "Mid-server-of-account-two"] as const;

Deno.test("service: refuses to start with another account or environment, until `account change`; a revoked BOOTSTRAP_STAFF_KEY stays revoked", async () => {
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

  const otherAccount = /another gateway account[^]*deno task account change/;
  const start = await runCommand([], secondSettings);
  assert.equal(start.code, 1, start.stderr);
  assert.match(startError(start.stderr), otherAccount);
  const run = await runInProcess(["run", "check_pending_payments"], secondSettings);
  assert.equal(run.code, 1, run.stderr);
  assert.match(run.stderr, otherAccount);
  const production = await runInProcess(["run", "check_pending_payments"], {
    ...firstSettings,
    GATEWAY_ENV: "production",
  });
  assert.equal(production.code, 1);
  assert.match(
    production.stderr,
    /environment "sandbox", but the settings are for "production"/,
  );
  assert.deepEqual(await readPayments(), before);

  const [account] = await runSql(databaseUrl, "select merchant_id from gateway.gateway_account");
  const shown = await runInProcess(["account"], secondSettings);
  assert.equal(shown.stdout, `Environment  sandbox\nMerchant     ${account!.merchant_id}\n`);
  const { code, stdout } = await runInProcess(["account", "change"], secondSettings);
  assert.deepEqual([code, stdout], [
    0,
    "Environment  sandbox\nMerchant     not set until the gateway's next response\n",
  ]);
  const revoked = await runInProcess(["keys", "revoke", STAFF_KEY], secondSettings);
  assert.equal(revoked.code, 0, revoked.stderr);
  await using service = await startService({ settings: secondSettings });
  await untilReady(service);
  assert.equal((await service.get("/me/", STAFF_KEY)).status, 401);
  assert.match(service.output(), /bootstrap_key_ignored/);
});

Deno.test("service: does not start with a real account on an embedded database that was used with the sandbox", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  {
    await using _service = await startService({ settings });
  }
  const realSettings = { ...settings, GATEWAY_SERVER_KEY: "Mid-server-real", PORT: "0" };
  const { code, stderr } = await runCommand([], realSettings);
  assert.equal(code, 1);
  assert.match(startError(stderr), /environment "embedded", but the settings are for "sandbox"/);
  const { stdout } = await runCommand(["account"], settings);
  assert.equal(
    stdout,
    "Environment  embedded\nMerchant     none, because the sandbox is not checked\n",
  );
});

Deno.test("account: prints its usage for unknown arguments", async () => {
  const settings = { DATABASE_URL: await createDatabase(), GATEWAY_SERVER_KEY: KEYS[0] };
  const { code, stderr } = await runInProcess(["account", "remove"], settings);
  assert.equal(code, 1);
  assert.match(stderr, /^Usage:\n {2}account /);
});
