import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { callService } from "../support/client.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { findPrograms, startDebianPostgres } from "../support/database/debian_postgres.ts";
import { openWebhookReceiver } from "../support/events/webhook_receiver.ts";
import { freePort } from "../support/free_port.ts";
import { type Json, openSandbox } from "../support/gateway/sandbox.ts";
import { blockWith, readGuide, runBlock } from "../support/guides/text.ts";
import { assertProblem } from "../support/problem.ts";
import { createDataFolder } from "../support/project.ts";
import { type ServiceProcess, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

const STAFF_KEY = "gk_" + "r".repeat(43);
const SERVER_KEY = "Mid-server-of-the-backup";

const programs = findPrograms();

async function call(
  service: ServiceProcess,
  method: string,
  path: string,
  body?: unknown,
  extraHeaders = {},
) {
  const headers = { Authorization: `Bearer ${STAFF_KEY}`, "Content-Type": "application/json" };
  const response = await callService(service.url + path, {
    method,
    headers: { ...headers, ...extraHeaders },
    body: JSON.stringify(body),
  });
  assert.ok(response.ok, await response.clone().text());
  return await response.json() as Json;
}

Deno.test({
  name: "production guide: a service continues on a database that was dumped and restored",
  // The embedded PostgreSQL has no `pg_dump`, and an older `pg_dump` rejects a newer server.
  ignore: programs === null,
  async fn() {
    const guide = await readGuide("production.md");
    const restoring = await readGuide("restoring.md");
    await using folder = await createDataFolder();
    await using dumps = await createDataFolder();
    await using receiver = openWebhookReceiver();
    await using sandbox = await openSandbox({ serverKey: SERVER_KEY });
    await using server = await startDebianPostgres(programs!, folder.path);
    const [DATABASE_URL, NEW_DATABASE_URL] = await Promise.all(
      [1, 2].map(() => createDatabase({ server: server.url, template: null })),
    ) as [string, string];
    const settings = {
      HOST: "127.0.0.1",
      GATEWAY_BASE_URL: sandbox.url,
      GATEWAY_SERVER_KEY: SERVER_KEY,
      BOOTSTRAP_STAFF_KEY: STAFF_KEY,
      WEBHOOK_ALLOW_PRIVATE: "true",
    };
    const charge = { payment_type: "bank_transfer", bank: "bca", gross_amount: 44_000 };

    let payment: Json, secret: string;
    {
      await using service = await startService({ settings: { ...settings, DATABASE_URL } });
      ({ secret } = await call(service, "POST", "/webhook-endpoints/", { url: receiver.url }));
      payment = await call(service, "POST", "/charge/", charge);
      await until("the webhook arrives", () => receiver.received.length === 1);
    }
    // The service ended before it gave this event a position.
    const unpublishedEvent = randomUUID();
    await runSql(
      DATABASE_URL,
      `insert into gateway.events (id, name, resource, resource_id, sequence, data, created_at)
      select '${unpublishedEvent}', name, resource, gen_random_uuid(), 1, data, now()
      from gateway.events;
      insert into gateway.event_outbox (event_id) values ('${unpublishedEvent}')`,
    );
    const received = () =>
      receiver.received.filter(({ headers }) => headers["webhook-id"] !== unpublishedEvent);
    const tools = { PATH: `${server.programs}:/usr/bin:/bin`, DATABASE_URL, NEW_DATABASE_URL };
    // The dump names a role that no longer exists when it is restored.
    await runSql(DATABASE_URL, "create role serving; grant usage on schema gateway to serving");
    await runBlock(blockWith(guide, "sh", "pg_dump --"), tools, dumps.path);
    await runSql(DATABASE_URL, "drop owned by serving; drop role serving");
    // The backup contains neither the event of this payment, nor that the first one was paid.
    let lostEvent: string, lostSettlement: Json;
    const checkStatus = (service: ServiceProcess) =>
      call(service, "GET", `/payments/${payment.id}/check_status/`);
    const eventAt = (index: number) => {
      const { body, headers } = received()[index]!;
      return new Webhook(secret).verify(new TextDecoder().decode(body), headers) as Json;
    };
    {
      await using service = await startService({ settings: { ...settings, DATABASE_URL } });
      await call(service, "POST", "/charge/", charge);
      await until("the webhook arrives", () => received().length === 2);
      lostEvent = received()[1]!.headers["webhook-id"]!;
      await sandbox.control(`transactions/${payment.transaction_id}/pay`);
      await checkStatus(service);
      await until("the webhook arrives", () => received().length === 3);
      lostSettlement = eventAt(2);
    }
    await runBlock(blockWith(restoring, "sh", "pg_restore --"), tools, dumps.path);

    // Starts without BOOTSTRAP_STAFF_KEY, because the dump contains the key.
    const { BOOTSTRAP_STAFF_KEY: _, ...settingsWithoutKey } = settings;
    await using service = await startService({
      settings: { ...settingsWithoutKey, DATABASE_URL: NEW_DATABASE_URL },
    });
    sandbox.receiver.answer = ({ text }) =>
      callService(`${service.url}/notification/`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: text,
      });
    assert.deepEqual(await call(service, "GET", `/payments/${payment.id}/`), {
      ...payment,
      user_id: "bootstrap",
    });
    const keptEvent = received()[0]!.headers["webhook-id"]!;
    const resume = (id: string) =>
      callService(`${service.url}/events/stream/`, {
        headers: { Authorization: `Bearer ${STAFF_KEY}`, "Last-Event-ID": id },
      });
    await assertProblem(await resume(lostEvent), 410, "unknown_event");
    const resumed = await resume(keptEvent);
    assert.equal(resumed.status, 200);
    await resumed.body!.cancel();
    // The service learns again that the payment was paid, and sends a new event about it.
    await checkStatus(service);
    await until("the webhook arrives", () => received().length === 4);
    const settlement = eventAt(3);
    const change = ({ name, sequence, data }: Json) => [name, sequence, data.id];
    assert.deepEqual(change(settlement), change(lostSettlement));
    assert.equal(settlement.name, "payment_settled");
    assert.notEqual(settlement.id, lostSettlement.id);
    assert.ok(settlement.created_at > lostSettlement.created_at);
    const listed = await call(service, "GET", "/events/?order=oldest_first");
    assert.deepEqual(
      (listed as unknown as Json[]).map(({ id }) => id),
      [keptEvent, unpublishedEvent, settlement.id],
    );

    const other = await call(service, "POST", "/charge/", charge);
    await sandbox.control(`transactions/${other.transaction_id}/pay`);
    await sandbox.waitForWebhooks();
    const paid = await call(service, "GET", `/payments/${other.id}/`);
    assert.equal(paid.transaction_status, "settlement");
    await until("the webhooks arrive", () => received().length === 6);
    assert.deepEqual([4, 5].map((index) => eventAt(index).data.id), [other.id, other.id]);

    // Jobs run on the restored database.
    const { id } = await call(service, "POST", "/charge/", charge, { Prefer: "respond-async" });
    await until(
      "the job has succeeded",
      async () => (await call(service, "GET", `/jobs/${id}/`)).status === "succeeded",
    );
  },
});

Deno.test({
  name: "Debian PostgreSQL of the tests: uses another port if the first is in use",
  ignore: programs === null,
  async fn() {
    await using folder = await createDataFolder();
    // The PostgreSQL server of the tests uses this port.
    const takenPort = Number(new URL(await createDatabase({ template: null })).port);
    const ports = [takenPort, takenPort, freePort()];
    await using server = await startDebianPostgres(programs!, folder.path, {
      choosePort: () => ports.shift()!,
    });
    assert.deepEqual(ports, []);
    const [row] = await runSql(server.url, "show data_directory");
    assert.ok(row!.data_directory.startsWith(folder.path));
  },
});
