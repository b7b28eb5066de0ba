import assert from "node:assert/strict";
import { createDatabase, runSql } from "../support/database/database.ts";
import { canMountDisk, mountSmallDisk } from "../support/database/small_disk.ts";
import { newKey } from "../support/idempotency.ts";
import { chargeRequest, openPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { until } from "../support/until.ts";

/** Makes new connections read-only, as on a replica, and closes the open connections. */
async function makeReadOnly(databaseUrl: string): Promise<void> {
  await setReadOnly(databaseUrl, "on");
  await runSql(
    databaseUrl,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  );
}

/** Changes the mode of new connections only; open connections keep theirs, as after a failover. */
async function setReadOnly(databaseUrl: string, value: "on" | "off"): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  await runSql(
    databaseUrl,
    `begin read write;
     alter database ${name} set default_transaction_read_only = ${value};
     commit`,
  );
}

async function openReadOnly() {
  let now = Date.now();
  const payments = await openPayments({
    now: () => now,
    databaseUrl: await createDatabase({ isNew: true }),
  });
  const { id } = await payments.charge();
  const staff = await payments.app.createKey({ userId: "staff", isStaff: true });
  const body = await chargeRequest(payments.sandbox, "bca");
  await makeReadOnly(payments.databaseUrl);
  // The first statements fail, because their connections were closed.
  await until("reads work", async () => (await payments.get("/payments/")).status === 200);
  return {
    payments,
    id,
    staff,
    charge: () => payments.post("/charge/", body, newKey()),
    ready: () => payments.app.request("/health/ready/"),
    /** Lets the cached API keys expire, so the next request reads them from the database. */
    forgetKeys: () => now += 10_000,
    [Symbol.asyncDispose]: () => payments[Symbol.asyncDispose](),
  };
}

Deno.test("read-only database: every read works, and writes get 503", async () => {
  await using service = await openReadOnly();
  const { payments, id, staff, charge, forgetKeys } = service;
  const paths = [
    "/me/",
    "/payments/",
    `/payments/${id}/`,
    "/invoices/",
    "/subscriptions/",
    "/events/",
    "/notifications/",
    "/jobs/",
    "/webhook-endpoints/",
    "/status/",
  ];
  for (const path of paths) {
    forgetKeys();
    assert.equal((await payments.get(path, staff)).status, 200, path);
  }
  const answer = await charge();
  assert.ok(Number(answer.headers.get("retry-after")) > 0);
  await assertProblem(answer, 503, "unavailable");
});

Deno.test("readiness: is 503 while the database is read-only, and 200 afterwards", async () => {
  await using service = await openReadOnly();
  const { payments, ready } = service;
  const problem = await assertProblem(await ready(), 503, "unavailable");
  assert.deepEqual(problem.checks, { database: "read_only" });
  assert.equal((await payments.app.request("/health/live/")).status, 200);
  await setReadOnly(payments.databaseUrl, "off");
  await until("the instance is ready", async () => (await ready()).status === 200);
});

Deno.test("database: connections that have become read-only are replaced after a rejected write", async () => {
  await using service = await openReadOnly();
  const { payments, charge } = service;
  assert.equal((await charge()).status, 503);
  await setReadOnly(payments.databaseUrl, "off");
  await until("a charge works", async () => (await charge()).status === 201);
});

Deno.test("full disk: reads work, and the instance is not ready", async () => {
  await using payments = await openPayments();
  await runSql(
    payments.databaseUrl,
    `insert into gateway.cron_runs (task, minute, started_at) values ('sweep', now(), now());
     create function public.fail() returns trigger language plpgsql as
       $$ begin raise exception sqlstate '53100'; end $$;
     create trigger fail before update on gateway.api_keys
       for each row execute function public.fail();
     create trigger fail before update on gateway.cron_runs
       for each row execute function public.fail()`,
  );
  assert.equal((await payments.get("/payments/")).status, 200);
  const ready = await payments.app.request("/health/ready/");
  const problem = await assertProblem(ready, 503, "unavailable");
  assert.deepEqual(problem.checks, { database: "read_only" });
});

Deno.test({
  name:
    "full disk: the instance is not ready while charges fail, and is ready when there is room again",
  ignore: !await canMountDisk("the test of a full disk is"),
  async fn() {
    await using disk = await mountSmallDisk();
    await using payments = await openPayments({ databaseUrl: disk.databaseUrl });
    await runSql(
      disk.databaseUrl,
      "insert into gateway.cron_runs (task, minute, started_at) values ('sweep', now(), now())",
    );
    const body = await chargeRequest(payments.sandbox, "bca");
    const charge = async () => (await payments.post("/charge/", body, newKey())).status;
    const ready = () => payments.app.request("/health/ready/");
    assert.equal(await charge(), 201);
    assert.equal((await ready()).status, 200);
    await disk.fill();
    await until("a charge fails", async () => await charge() === 503);
    // The probe checks for writes at most once a second.
    await until("the instance is not ready", async () => (await ready()).status === 503);
    for (let i = 0; i < 20; i++) {
      const problem = await assertProblem(await ready(), 503, "unavailable");
      assert.deepEqual(problem.checks, { database: "read_only" });
    }
    assert.equal((await payments.get("/payments/")).status, 200);
    await disk.free();
    await until("the instance is ready", async () => (await ready()).status === 200);
    assert.equal(await charge(), 201);
  },
});
