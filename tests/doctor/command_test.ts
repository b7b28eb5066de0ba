import assert from "node:assert/strict";
import { FINDINGS } from "../../core/doctor/texts.ts";
import type { DescribedResult } from "../../core/doctor/render.ts";
import { runInProcess } from "../support/commands.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import {
  complaints,
  openInstallation,
  runSchedule,
  SERVER_KEY,
  untested,
} from "../support/doctor/installation.ts";
import { openReceiver } from "../support/gateway/sandbox.ts";
import { preparedFolder, runCommand, startService } from "../support/service.ts";

/** The result of one check. */
function resultOf(results: DescribedResult[], check: string): DescribedResult {
  return results.find((each) => each.check === check)!;
}

Deno.test("doctor: wrong usage exits with 2, and --help with 0", async () => {
  for (const args of [["--jsn"], ["--json", "--json"], ["now"]]) {
    const { code, stderr } = await runInProcess(["doctor", ...args], {});
    assert.equal(code, 2);
    assert.match(stderr, /^Usage: doctor/);
  }
  const { code, stdout } = await runInProcess(["doctor", "--help"], {});
  assert.equal(code, 0);
  assert.match(stdout, /^Usage: doctor/);
});

Deno.test("doctor: wrong settings are a fault with all problems, and exit with 1", async () => {
  const settings = { DATABASE_URL: "mysql://a:secret-word@b/c", PORT: "many" };
  const { code, stdout } = await runInProcess(["doctor"], settings);
  assert.equal(code, 1);
  assert.match(stdout, /FAULT +Settings: 3 settings are wrong:/);
  for (const name of ["DATABASE_URL", "GATEWAY_SERVER_KEY", "PORT"]) {
    assert.match(stdout, new RegExp(name));
  }
  assert.doesNotMatch(stdout, /secret-word/);
});

Deno.test("doctor: a database that does not respond is the fault, and its other checks are not tested", async () => {
  await using installation = await openInstallation({ server: null });
  const DATABASE_URL = "postgres://someone:secret-word@127.0.0.1:2/nothing";
  const outcome = await runInProcess(["doctor"], { ...installation.settings, DATABASE_URL });
  assert.equal(outcome.code, 1);
  assert.match(outcome.stdout, /FAULT +Database: The database cannot be used: /);
  assert.match(
    outcome.stdout,
    /not tested +Database writes: Not run, because this check is not ok: Database/,
  );
  assert.doesNotMatch(outcome.stdout + outcome.stderr, /secret-word/);
});

Deno.test("doctor: pending migrations are a fault, and are not applied", async () => {
  const databaseUrl = await createDatabase({ template: null });
  await using installation = await openInstallation({ server: null });
  const results = await installation.examine({ DATABASE_URL: databaseUrl });
  assert.deepEqual(complaints(results), ["database fault database_pending"]);
  const schemas = await runSql(databaseUrl, "select from pg_namespace where nspname = 'gateway'");
  assert.equal(schemas.length, 0);
});

Deno.test("doctor: a role without privileges is a fault that names the tables", async () => {
  await using installation = await openInstallation({ server: null });
  const { databaseUrl } = installation;
  const name = `reader_${crypto.randomUUID().replaceAll("-", "")}`;
  await runSql(
    databaseUrl,
    `create role ${name} login password 'p'; grant usage on schema gateway to ${name};
    grant select, insert, update, delete on all tables in schema gateway to ${name};
    revoke update on gateway.payments from ${name}`,
  );
  const DATABASE_URL = Object.assign(new URL(databaseUrl), { username: name, password: "p" }).href;
  const results = await installation.examine({ DATABASE_URL });
  assert.deepEqual(complaints(results), ["privileges fault privileges_missing"]);
  assert.match(resultOf(results, "privileges").found, /change: payments\.$/);
});

Deno.test("doctor: if this host cannot reach PUBLIC_URL, what depends on it is not tested", async () => {
  await using installation = await openInstallation({ server: null });
  const results = await installation.examine();
  assert.deepEqual(complaints(results), []);
  assert.deepEqual(untested(results), [
    "public_url",
    "notification",
    "body_size",
    "stream",
    "disk",
  ]);
  assert.equal(resultOf(results, "public_url").finding, "public_url_unreachable");
});

Deno.test("doctor: a name in PUBLIC_URL that does not resolve is a warning, never a fault", async () => {
  await using installation = await openInstallation({ server: null });
  const results = await installation.examine({ PUBLIC_URL: "https://pay.shop.invalid" });
  assert.deepEqual(complaints(results), ["public_url warning public_url_unresolved"]);
});

Deno.test("doctor: without PUBLIC_URL, the way from outside is not tested", async () => {
  await using installation = await openInstallation({ server: null });
  const results = await installation.examine({ PUBLIC_URL: null });
  assert.deepEqual(complaints(results), []);
  assert.equal(resultOf(results, "public_url").finding, "public_url_missing");
});

Deno.test("doctor: a PUBLIC_URL of this machine is a warning with a gateway elsewhere", async () => {
  await using installation = await openInstallation({ server: null });
  const results = await installation.examine({ GATEWAY_BASE_URL: "https://gateway.invalid" });
  assert.equal(resultOf(results, "public_url").finding, "public_url_local");
  assert.equal(resultOf(results, "gateway").finding, "gateway_unreachable");
});

Deno.test("doctor: a notification that arrives at another database is a fault", async () => {
  await using other = await openInstallation({ server: null });
  const listening = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  await using http = Deno.serve(
    listening,
    (request, { remoteAddr }) => other.app.fetchUnchecked(request, { remoteAddr } as never),
  );
  await using installation = await openInstallation({ server: null });
  const results = await installation.examine({
    PUBLIC_URL: `http://127.0.0.1:${http.addr.port}`,
  });
  assert.equal(resultOf(results, "notification").finding, "notification_elsewhere");
  // No key of this installation is sent to the other one.
  assert.equal(resultOf(results, "stream").finding, "blocked");
  assert.equal(complaints(results).length, 1);
  const withOtherKey = await installation.examine({
    PUBLIC_URL: `http://127.0.0.1:${http.addr.port}`,
    GATEWAY_SERVER_KEY: "SB-Mid-server-other",
  });
  assert.equal(resultOf(withOtherKey, "notification").finding, "notification_signature");
  await other.app.streams[Symbol.asyncDispose]();
});

Deno.test("doctor: keys and URL of different environments are a fault", async () => {
  await using installation = await openInstallation({ server: null });
  const keys = async (settings: Record<string, string>) =>
    resultOf(await installation.examine(settings), "keys").finding;
  assert.equal(await keys({ GATEWAY_CLIENT_KEY: "Mid-client-a" }), "keys_mixed");
  const results = await installation.examine({
    GATEWAY_ENV: "production",
    GATEWAY_SERVER_KEY: "Mid-server-a",
  });
  assert.equal(resultOf(results, "account").finding, "account_other");
});

Deno.test("doctor: says which records in use need the URL in the dashboard", async () => {
  await using installation = await openInstallation({ server: null });
  const { app } = installation;
  assert.equal(resultOf(await installation.examine(), "dashboard_url").status, "ok");
  const alice = await app.createKey();
  const created = await app.as(alice, "/invoices/", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      customer_name: "Budi",
      due_date: "2099-12-31",
      items: [{ description: "Beans", price: 75_000, quantity: 1 }],
    }),
  });
  assert.equal(created.status, 201, await created.text());
  const { status, found, next } = resultOf(await installation.examine(), "dashboard_url");
  assert.equal(status, "not_tested");
  assert.match(found, /to the URLs in its dashboard: invoices\./);
  assert.match(next!, /\/notification\//);
});

Deno.test("doctor: webhook endpoints that do not accept a test event are a fault, without their paths", async () => {
  await using installation = await openInstallation({ server: null });
  await using receiver = openReceiver();
  const staff = await installation.app.createKey({ isStaff: true });
  const add = async (path: string) => {
    const response = await installation.app.as(staff, "/webhook-endpoints/", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ url: receiver.url + path }),
    });
    assert.equal(response.status, 201, await response.text());
  };
  await add("/good");
  assert.equal(resultOf(await installation.examine(), "webhooks").finding, "webhooks_ok");
  assert.equal(receiver.hooks.at(-1)!.body.name, "webhook_endpoint_tested");
  receiver.answer = ({ path }) => new Response(null, { status: path === "/good" ? 200 : 500 });
  await add("/secret-path");
  const results = await installation.examine();
  assert.deepEqual(complaints(results), ["webhooks fault webhooks_failing"]);
  assert.doesNotMatch(JSON.stringify(results), /secret-path/);
});

Deno.test("doctor: failed jobs are a warning, and jobs that wait for a worker a fault", async () => {
  await using installation = await openInstallation({ server: null });
  const { databaseUrl } = installation;
  const insertJob = (status: string, age: string) =>
    runSql(
      databaseUrl,
      `insert into gateway.jobs (id, task, payload, status, attempts, run_at, created_at, updated_at)
      values (gen_random_uuid(), 'prune', '{}', '${status}', 0, now() - interval '${age}', now(), now())`,
    );
  await insertJob("failed", "1 minute");
  assert.deepEqual(complaints(await installation.examine()), ["jobs warning jobs_failed"]);
  await insertJob("queued", "10 minutes");
  assert.deepEqual(complaints(await installation.examine()), ["jobs fault jobs_waiting"]);
});

Deno.test("doctor: events that are not published are a fault", async () => {
  await using installation = await openInstallation({ server: null });
  await runSql(
    installation.databaseUrl,
    `with written as (
      insert into gateway.events (id, name, resource, resource_id, sequence, data, created_at)
      values (gen_random_uuid(), 'payment_settled', 'payment', gen_random_uuid(), 1, '{}',
        now() - interval '5 minutes')
      returning id
    ) insert into gateway.event_outbox (event_id) select id from written`,
  );
  const results = await installation.examine();
  assert.deepEqual(complaints(results), ["publisher fault publisher_behind"]);
});

Deno.test("doctor: a schedule that has never run, or failed, is a warning", async () => {
  await using installation = await openInstallation({ server: null });
  const { app, databaseUrl } = installation;
  await runSql(databaseUrl, "delete from gateway.cron_runs");
  assert.deepEqual(complaints(await installation.examine()), ["crons warning crons_never"]);
  await runSchedule(app);
  await runSql(databaseUrl, "update gateway.cron_runs set error = 'x' where task = 'prune'");
  assert.deepEqual(complaints(await installation.examine()), ["crons warning crons_failed"]);
});

Deno.test("doctor: a backup of more than 25 hours ago, or a missing file, is a warning", async () => {
  await using installation = await openInstallation({ server: null });
  const { BACKUP_TIME_FILE } = installation.settings;
  const setAge = (hours: number) => {
    const at = new Date(Date.now() - hours * 3_600_000);
    return Deno.utime(BACKUP_TIME_FILE!, at, at);
  };
  await setAge(24.5);
  assert.deepEqual(complaints(await installation.examine()), []);
  await setAge(25.5);
  assert.deepEqual(complaints(await installation.examine()), ["backup warning backup_old"]);
  const missing = await installation.examine({ BACKUP_TIME_FILE: `${BACKUP_TIME_FILE}.no` });
  assert.deepEqual(complaints(missing), ["backup warning backup_missing"]);
  const unset = await installation.examine({ BACKUP_TIME_FILE: null });
  assert.equal(resultOf(unset, "backup").finding, "backup_unknown");
});

Deno.test("doctor: says which payment methods the account has", async () => {
  await using installation = await openInstallation({ server: null });
  const { sandbox } = installation;
  const methods = async () => resultOf(await installation.examine(), "methods");
  const inactive = { inactive_payment_types: ["credit_card", "qris"] };
  await sandbox.control("settings", inactive, "PATCH");
  assert.match((await methods()).found, /has: bca_va, .*gopay/);
  assert.doesNotMatch((await methods()).found, /credit_card|qris/);
  await sandbox.fault("merchant_preferences", "error_500", { count: 10 });
  assert.equal((await methods()).status, "not_tested");
});

Deno.test("doctor: neither output contains the server key, or the password of the database", async () => {
  await using installation = await openInstallation({ server: null });
  const { password } = new URL(installation.databaseUrl);
  for (const args of [[], ["--json"]]) {
    const { stdout, stderr } = await installation.run(...args);
    assert.ok(!(stdout + stderr).includes(SERVER_KEY));
    assert.ok(password === "" || !(stdout + stderr).includes(password));
  }
});

Deno.test("doctor: every finding has a sentence, and every fault a next step", () => {
  for (const [name, { found, next }] of Object.entries(FINDINGS)) {
    assert.ok(found.length > 0, name);
    if (next !== null) assert.match(next, /[.`)]$/, name);
  }
});

Deno.test("doctor: examines the embedded default with its own permissions, while the service runs", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  await using service = await startService({ settings });
  const ports = {
    PORT: new URL(service.url).port,
    SANDBOX_PORT: new URL(service.sandbox).port,
  };
  const { code, stdout } = await runCommand(["doctor", "--json"], { ...settings, ...ports });
  const { results } = JSON.parse(stdout);
  assert.deepEqual(complaints(results).filter((each) => !/^(crons|disk)/.test(each)), [], stdout);
  assert.equal(resultOf(results, "keys").finding, "keys_embedded");
  assert.equal(resultOf(results, "stream").finding, "stream_ok");
  assert.match(resultOf(results, "disk").finding, /^disk_(ok|low)$/);
  assert.ok(code === 0 || complaints(results).length > 0);
});
