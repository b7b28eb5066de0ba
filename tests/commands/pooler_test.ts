import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type DatabaseAccess, reachDatabase } from "../../commands/database_access.ts";
import { openApp, type TestApp } from "../support/app.ts";
import { callService, sendUntilAnswered } from "../support/client.ts";
import { runInProcess } from "../support/commands.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { hasPgBouncer, startPgBouncer } from "../support/database/pgbouncer.ts";
import { openSandbox, type TestSandbox } from "../support/gateway/sandbox.ts";
import { assertPaymentsMatchGateway } from "../support/payments/compare_with_gateway.ts";
import { expireLeases } from "../support/idempotency.ts";
import { errorsIn } from "../support/logged_errors.ts";
import {
  runCommand,
  type ServiceProcess,
  startError,
  type StartOptions,
  startService,
  untilReady,
} from "../support/service.ts";
import { shareOf } from "../support/share.ts";
import { until } from "../support/until.ts";

const ignore = !await hasPgBouncer();

const SERVER_KEY = "Mid-server-pooler-tests";

/** Longer than every lease. */
const AHEAD_MS = 20 * 60_000;

async function assertRefused(url: string, directUrl: string | null, message: RegExp) {
  await assert.rejects(reachDatabase(url, directUrl), { name: "Failure", message });
}

Deno.test({
  name:
    "start: refuses a pooler in transaction mode without DATABASE_DIRECT_URL, and names the setting",
  ignore,
  async fn() {
    const server = await createDatabase();
    await using pgbouncer = await startPgBouncer({ server, mode: "transaction" });
    const settings = {
      DATABASE_URL: pgbouncer.through(server),
      GATEWAY_SERVER_KEY: SERVER_KEY,
      HOST: "127.0.0.1",
      PORT: "0",
    };
    const { code, stderr } = await runCommand([], settings);
    assert.equal(code, 1);
    assert.match(
      startError(stderr),
      /^DATABASE_URL leads to a connection pooler in transaction mode \(127[^\n]+ DATABASE_DIRECT_URL is missing[^\n]+\n$/,
    );
    assert.doesNotMatch(stderr, new RegExp(`:${new URL(server).password}@`));
  },
});

Deno.test({
  name: "start: refuses a pooler in statement mode, with and without DATABASE_DIRECT_URL",
  ignore,
  async fn() {
    const server = await createDatabase();
    await using pgbouncer = await startPgBouncer({ server, mode: "statement" });
    const url = pgbouncer.through(server);
    for (const directUrl of [server, null]) {
      await assertRefused(url, directUrl, /^DATABASE_URL .* statement mode .* transactions/);
    }
  },
});

Deno.test({
  name: "start: refuses a DATABASE_DIRECT_URL that is a pooler, another database or an old server",
  ignore,
  async fn() {
    const server = await createDatabase({ isNew: true });
    await using pgbouncer = await startPgBouncer({ server, mode: "transaction" });
    await using statements = await startPgBouncer({ server, mode: "statement" });
    const url = pgbouncer.through(server);
    await assertRefused(url, url, /^DATABASE_DIRECT_URL .* in transaction mode .*session mode\.$/);
    await assertRefused(
      url,
      statements.through(server),
      /^DATABASE_DIRECT_URL .* in statement mode .*session mode\.$/,
    );
    const other = await createDatabase({ isNew: true });
    await assertRefused(url, other, /^DATABASE_DIRECT_URL \(.*\) leads to another database/);
    // The same without a pooler in DATABASE_URL.
    await assertRefused(server, other, /^DATABASE_DIRECT_URL \(.*\) leads to another database/);

    const old = await createDatabase({ isNew: true });
    const { pathname } = new URL(old);
    await runSql(
      old,
      `create function public.current_setting(text) returns text language sql
        as $$ select case $1 when 'server_version_num' then '140012' end $$;
       alter database ${pathname.slice(1)} set search_path = public, pg_catalog`,
    );
    await assertRefused(url, old, /^The database is PostgreSQL 14; .* Check DATABASE_DIRECT_URL/);
  },
});

Deno.test({
  name: "start: uses a pooler in session mode for everything, or as DATABASE_DIRECT_URL",
  ignore,
  async fn() {
    const server = await createDatabase({ isNew: true });
    await using sessions = await startPgBouncer({ server, mode: "session" });
    await using transactions = await startPgBouncer({ server, mode: "transaction" });
    const url = sessions.through(server);
    const pooledUrl = transactions.through(server);
    assert.deepEqual(
      await reachDatabase(url, null),
      { url, pooling: "session", directUrl: url } satisfies DatabaseAccess,
    );
    assert.deepEqual(
      await reachDatabase(pooledUrl, url),
      { url: pooledUrl, pooling: "transaction", directUrl: url } satisfies DatabaseAccess,
    );
    assert.deepEqual(
      await reachDatabase(server, null),
      { url: server, pooling: "none", directUrl: server } satisfies DatabaseAccess,
    );
  },
});

interface PooledService extends AsyncDisposable {
  service: ServiceProcess;
  /** Another instance, without a pooler, whose clock is ahead. */
  otherInstance: TestApp;
  sandbox: TestSandbox;
  charge(orderId: string): Promise<Response>;
}

async function openPooledService(
  server: string,
  settings: Record<string, string>,
  options: Pick<StartOptions, "hasOwnDeadline"> = {},
): Promise<PooledService> {
  await using resources = new AsyncDisposableStack();
  const sandbox = resources.use(await openSandbox({ serverKey: SERVER_KEY }));
  const otherInstance = resources.use(
    await openApp({
      databaseUrl: server,
      gatewayUrl: sandbox.url,
      serverKey: SERVER_KEY,
      now: () => Date.now() + AHEAD_MS,
      hasPositionPublisher: false,
    }),
  );
  const key = await otherInstance.createKey();
  const service = resources.use(
    await startService({
      settings: {
        GATEWAY_BASE_URL: sandbox.url,
        GATEWAY_SERVER_KEY: SERVER_KEY,
        HOST: "127.0.0.1",
        ...settings,
      },
      ...options,
    }),
  );
  await sandbox.control("settings", { notification_url: `${service.url}/notification/` }, "PATCH");
  const owned = resources.move();
  return {
    service,
    otherInstance,
    sandbox,
    charge: (orderId) => callService(`${service.url}/charge/`, chargeRequest(orderId, key)),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function chargeRequest(order_id: string, key: string): RequestInit {
  return {
    method: "POST",
    headers: {
      Authorization: `Bearer ${key}`,
      "Content-Type": "application/json",
      "Idempotency-Key": order_id,
    },
    body: JSON.stringify({ payment_type: "gopay", gross_amount: 44_000, order_id }),
  };
}

/** Applies the migrations with the command. */
async function migrate(settings: Record<string, string>): Promise<void> {
  const migrated = await runInProcess(["migrate"], { ...settings, GATEWAY_SERVER_KEY: SERVER_KEY });
  assert.equal(migrated.code, 0, migrated.stderr);
}

/** Charges, pays, and waits until the service has published the events. */
async function assertSettles(server: string, { sandbox, charge }: PooledService): Promise<void> {
  const orders = Array.from({ length: 5 }, () => `order-${randomUUID()}`);
  for (const order of orders) {
    const response = await sendUntilAnswered(() => charge(order));
    assert.equal(response.status, 201, await response.clone().text());
    const { transaction_id } = await response.json();
    await sandbox.control(`transactions/${transaction_id}/pay`);
  }
  await until("the payments are settled, and their events are published", async () => {
    const rows = await runSql(
      server,
      `select from gateway.payments payment
       join gateway.events event on event.resource_id = payment.id
       join gateway.published_events published on published.event_id = event.id
       where transaction_status = 'settlement' and event.name = 'payment_settled'`,
    );
    return rows.length === orders.length;
  });
}

Deno.test({
  name:
    "service: with a pooler in session mode, migrates, charges, settles, publishes events and stops cleanly",
  ignore,
  async fn() {
    const server = await createDatabase({ template: null });
    await using pgbouncer = await startPgBouncer({ server, mode: "session", sessions: 20 });
    const settings = { DATABASE_URL: pgbouncer.through(server) };
    await migrate(settings);
    await using installation = await openPooledService(server, settings);
    const { service } = installation;
    await assertSettles(server, installation);
    service.signal("SIGTERM");
    assert.equal((await service.ended).code, 0, service.output());
    assert.deepEqual(errorsIn(service.output()), []);
  },
});

Deno.test({
  name:
    "service: with a pooler in transaction mode, migrates, charges, settles and publishes events; if the pooler restarts under load, no charge is lost, and the service works again",
  ignore,
  async fn() {
    const server = await createDatabase({ template: null });
    await using pgbouncer = await startPgBouncer({ server, mode: "transaction", sessions: 20 });
    const settings = { DATABASE_URL: pgbouncer.through(server), DATABASE_DIRECT_URL: server };
    await migrate(settings);
    const options = { hasOwnDeadline: true };
    await using installation = await openPooledService(server, settings, options);
    const { service, otherInstance, sandbox, charge } = installation;
    await assertSettles(server, installation);
    assert.deepEqual(errorsIn(service.output()), []);
    const settled = await runSql(server, "select order_id from gateway.payments");
    /** By order id: the status of the response to the charge; 0 if there was no response. */
    const statuses = new Map<string, number>();
    let isDone = false;
    async function keepCharging() {
      while (!isDone) {
        const order = `order-${randomUUID()}`;
        const response = await charge(order).catch(() => null);
        statuses.set(order, response?.status ?? 0);
        await response?.body?.cancel();
      }
    }
    const callers = Array.from({ length: 6 }, keepCharging);
    const count = (isWanted: (status: number) => boolean) =>
      [...statuses.values()].filter(isWanted).length;
    for (let restart = 0; restart < shareOf(3); restart++) {
      const [succeeded, failed] = [count((status) => status === 201), count((s) => s !== 201)];
      await until("charges succeed", () => count((status) => status === 201) > succeeded + 10);
      await pgbouncer.kill();
      await until("charges fail", () => count((status) => status !== 201) > failed + 3);
      await pgbouncer.start();
    }
    const succeeded = count((status) => status === 201);
    await until("charges succeed again", () => count((status) => status === 201) > succeeded + 10);
    isDone = true;
    await Promise.all(callers);
    await untilReady(service);
    assert.deepEqual([...new Set(statuses.values())].sort(), [201, 503]);

    // The callers retry the failed charges later, at an instance whose clock is ahead. The new
    // payments get the time of this clock, so their transactions would seem too old to the first
    // instance. Therefore the sandbox sends no notifications from now on.
    await sandbox.control("settings", { notification_url: null }, "PATCH");
    await expireLeases(otherInstance.database);
    const key = await otherInstance.createKey();
    for (const [order, status] of statuses) {
      if (status === 201) continue;
      const response = await otherInstance.request("/charge/", chargeRequest(order, key));
      assert.equal(response.status, 201, await response.text());
    }
    const rows = await runSql(server, "select order_id from gateway.payments");
    const expected = [...settled.map(({ order_id }) => order_id), ...statuses.keys()];
    assert.deepEqual(rows.map(({ order_id }) => order_id).sort(), expected.sort());
    await assertPaymentsMatchGateway(otherInstance.database, sandbox);
    service.signal("SIGTERM");
    assert.equal((await service.ended).code, 0, service.output());
    assert.doesNotMatch(service.output(), /unhandled|uncaught/);
  },
});
