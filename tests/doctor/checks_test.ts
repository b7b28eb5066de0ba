import assert from "node:assert/strict";
import { parseConfig } from "../../core/config/config.ts";
import { checkClocks } from "../../core/doctor/database_checks.ts";
import { checkKeys } from "../../core/doctor/gateway_checks.ts";
import { runInProcess } from "../support/commands.ts";
import { createDatabase } from "../support/database/database.ts";
import { hasPgBouncer, startPgBouncer } from "../support/database/pgbouncer.ts";
import { openInstallation } from "../support/doctor/installation.ts";

const KEYS = { DATABASE_URL: "postgres://a/b", GATEWAY_SERVER_KEY: "SB-Mid-server-a" };

Deno.test("doctor: keys have to fit the gateway's host and each other", () => {
  const found = (settings: Record<string, string>) =>
    checkKeys({ config: parseConfig(settings, "/nowhere") }).finding;
  assert.equal(found({}), "keys_embedded");
  assert.equal(found(KEYS), "keys_ok");
  const production = { ...KEYS, GATEWAY_ENV: "production", GATEWAY_SERVER_KEY: "Mid-server-a" };
  assert.equal(found(production), "keys_ok");
  const [real, test] = ["https://api.midtrans.com", "https://api.sandbox.midtrans.com"];
  assert.equal(found({ ...KEYS, GATEWAY_BASE_URL: real }), "keys_wrong_host");
  assert.equal(found({ ...production, GATEWAY_BASE_URL: test }), "keys_wrong_host");
  assert.equal(found({ ...production, GATEWAY_BASE_URL: "https://proxy.example" }), "keys_ok");
  assert.equal(found({ ...KEYS, GATEWAY_CLIENT_KEY: "Mid-client-a" }), "keys_mixed");
});

Deno.test("doctor: a wrong clock of this host is a warning, one of the database a fault", async () => {
  const found = async (database: number, gateway: number | null) => {
    const clockCheck = { measure: () => Promise.resolve({ database, gateway, isReliable: true }) };
    const { status, finding, values } = await checkClocks({ clockCheck });
    return [status, finding, values.seconds];
  };
  assert.deepEqual(await found(100, -900), ["ok", "clock_ok", undefined]);
  assert.deepEqual(await found(100, null), ["ok", "clock_without_gateway", undefined]);
  assert.deepEqual(await found(-600_000, 0), ["warning", "clock_host", 600]);
  assert.deepEqual(await found(0, 600_000), ["fault", "clock_database", 600]);
});

Deno.test({
  name: "doctor: names the mode of a connection pooler, and a mode that cannot be used is a fault",
  ignore: !await hasPgBouncer(),
  async fn() {
    const databaseUrl = await createDatabase({ isNew: true });
    await using pooler = await startPgBouncer({ server: databaseUrl, mode: "transaction" });
    await using installation = await openInstallation({ server: null, databaseUrl });
    const DATABASE_URL = pooler.through(databaseUrl);
    const results = await installation.examine({ DATABASE_URL, DATABASE_DIRECT_URL: databaseUrl });
    const pooling = results.find(({ check }) => check === "pooling")!;
    assert.equal(pooling.status, "ok");
    assert.match(pooling.found, /a pooler in transaction mode/);
    const { stdout, code } = await runInProcess(["doctor"], {
      ...installation.settings,
      DATABASE_URL,
    });
    assert.equal(code, 1);
    assert.match(stdout, /FAULT +Database: .*DATABASE_DIRECT_URL is missing/);
  },
});
