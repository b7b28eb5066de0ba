import assert from "node:assert/strict";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import { findNotification, type GatewayNotification } from "../../db/payments/notifications.ts";
import { StatusSchema } from "../../routes/status/schemas.ts";
import { openApp, type TestApp } from "../support/app.ts";
import { callService } from "../support/client.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { findSentNotification, notifyAndRead } from "../support/gateway/notifications.ts";
import { openRelay, openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { type Json, openSandbox } from "../support/gateway/sandbox.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import { chargeRequest, type Payment, type TestPayments } from "../support/payments/payments.ts";
import { startUntilUp } from "../support/crash/start_until_up.ts";
import { isPartial, someOf } from "../support/share.ts";
import { until } from "../support/until.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

interface Outage extends RelayedPayments {
  /** A settled payment that was charged back at the gateway. */
  settled: Payment;
  /** The notification of the chargeback, which was accepted during the outage. */
  notification: GatewayNotification;
  now(): number;
  /** Advances the clock to the job's next run and runs it; returns the pause before that run. */
  runNext(): Promise<number>;
}

/** `response`: the response of the gateway's status API after the chargeback. */
async function openOutage(response: () => Response): Promise<Outage> {
  let now = Date.now();
  const payments = await openRelayed({
    databaseUrl: await createDatabase(),
    now: () => now,
    // On a busy machine a statement may take long; a failed one would change the pauses.
    databaseDeadlineMs: 20_000,
    // Pauses between the retries of one call end at once.
    gatewayOptions: { wait: (ms) => ms < 1_000 ? Promise.resolve() : new Promise(() => {}) },
  });
  const settled = await payments.paid("card");
  await payments.sandbox.control(`transactions/${settled.transaction_id}/chargeback`);
  const body = await findSentNotification(payments, settled.order_id, "chargeback");
  payments.relay.intercept = response;
  const notification = await notifyAndRead(payments, body);
  return {
    ...payments,
    settled,
    notification,
    now: () => now,
    async runNext() {
      const [job] = await jobsOf(payments.app, notification.id);
      assert.equal(job!.status, "queued");
      const pauseMs = job!.run_at.getTime() - now;
      now += Math.max(pauseMs, 0);
      await runDueJobs(payments.app);
      return pauseMs;
    },
  };
}

async function reread(app: TestApp, { id }: GatewayNotification): Promise<GatewayNotification> {
  return (await app.database.query((sql) => findNotification(sql, id)))!;
}

async function notificationsInStatus({ app, get }: TestPayments) {
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  return StatusSchema.parse(await (await get("/status/", staff)).json()).notifications;
}

function endOutage({ relay }: Outage): void {
  relay.intercept = (_request, pass) => pass();
}

/** Responses that do not say what state the transaction is in. */
const NO_ANSWER: Record<string, () => Response> = {
  "a 500": () => Response.json({ status_code: "500" }, { status: 500 }),
  "a 500 in the body": () => Response.json({ status_code: "500" }),
  "a rejected server key": () => Response.json({ status_code: "401" }, { status: 401 }),
  "a 404 of a proxy": () => new Response("<html>", { status: 404 }),
};

for (const [name, response] of someOf(Object.entries(NO_ANSWER))) {
  Deno.test(`notification: while the gateway answers with ${name}, is kept for 7 days without using up an attempt, and applied when the gateway recovers`, async () => {
    await using outage = await openOutage(response);
    const { app, settled, notification } = outage;
    const startedAt = outage.now();
    const pauses: number[] = [];
    while (outage.now() < startedAt + 7 * DAY - HOUR) pauses.push(await outage.runNext());
    // The first run is immediate. Each later pause equals the age of the notification, but is at
    // least a minute and at most an hour.
    const minutes = pauses.slice(1, 8).map((ms) => Math.round(ms / MINUTE));
    assert.deepEqual(minutes, [1, 1, 2, 4, 8, 16, 32]);
    assert.deepEqual(new Set(pauses.slice(8)), new Set([HOUR]));
    assert.equal((await reread(app, notification)).status, "received");
    const [job] = await jobsOf(app, notification.id);
    assert.deepEqual([job!.status, job!.attempts], ["queued", 0]);
    assert.match(job!.error!, /^Gateway\w+Error: /);
    assert.equal((await notificationsInStatus(outage)).received, 1);
    const postponed = app.logged().filter(({ task, outcome }) =>
      task === "process_notification" && outcome === "postponed"
    );
    assert.equal(postponed.length, pauses.length);
    assert.equal(postponed.at(-1)!.error, job!.error);

    endOutage(outage);
    await outage.runNext();
    assert.equal((await reread(app, notification)).status, "processed");
    assert.equal((await outage.read(settled.id)).transaction_status, "chargeback");
  });
}

Deno.test("notification: if it is given up after 7 days, /status/ counts it, and its payment is checked until the gateway answers", async () => {
  await using outage = await openOutage(NO_ANSWER["a 500"]!);
  const { app, settled, notification, databaseUrl } = outage;
  const startedAt = outage.now();
  while ((await reread(app, notification)).status === "received") await outage.runNext();
  assert.ok(outage.now() >= startedAt + 7 * DAY);
  const failed = await reread(app, notification);
  assert.deepEqual([failed.status, failed.payment_id], ["failed", settled.id]);
  assert.ok(failed.error_message);
  assert.deepEqual(await notificationsInStatus(outage), {
    received: 0,
    oldest_received_seconds: null,
    failed: 1,
  });
  assert.equal((await outage.read(settled.id)).transaction_status, "settlement");

  const makeDue = () =>
    runSql(databaseUrl, `update gateway.payments set check_at = now() where check_at is not null`);
  const sweep = async () => {
    await makeDue();
    assert.equal(await checkPendingPayments(app.service), 1);
    await runDueJobs(app);
  };
  // A sweep during the outage changes nothing; the payment stays due.
  await sweep();
  assert.equal((await outage.read(settled.id)).transaction_status, "settlement");
  endOutage(outage);
  await sweep();
  assert.equal((await outage.read(settled.id)).transaction_status, "chargeback");
  await makeDue();
  assert.equal(await checkPendingPayments(app.service), 0, "no check is left");
});

Deno.test("notification: if it was given up, a retry of its failed job applies it", async () => {
  await using outage = await openOutage(NO_ANSWER["a 500"]!);
  const { app, settled, notification } = outage;
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  while ((await reread(app, notification)).status === "received") await outage.runNext();
  const [failed] = await jobsOf(app, notification.id);
  assert.equal(failed!.status, "failed");
  endOutage(outage);
  const response = await outage.post(`/jobs/${failed!.id}/retry/`, undefined, {}, staff);
  assert.equal(response.status, 200, await response.text());
  await runDueJobs(app);
  const [retried] = await jobsOf(app, notification.id);
  assert.deepEqual([retried!.status, retried!.result], ["succeeded", { status: "processed" }]);
  const { status, error_message } = await reread(app, notification);
  assert.deepEqual([status, error_message], ["processed", null]);
  assert.equal((await outage.read(settled.id)).transaction_status, "chargeback");
});

Deno.test("notification: if the gateway does not know its transaction, is retried for less than an hour", async () => {
  const response = () => Response.json({ status_code: "404", status_message: "No such thing." });
  await using outage = await openOutage(response);
  const startedAt = outage.now();
  const { app, notification } = outage;
  while ((await reread(app, notification)).status === "received") await outage.runNext();
  assert.equal((await reread(app, notification)).status, "failed");
  assert.ok(outage.now() - startedAt < HOUR);
});

Deno.test(
  "service process: if a chargeback notification is given up after days of gateway errors, a check after a crash applies the chargeback",
  { ignore: isPartial },
  async () => {
    const databaseUrl = await createDatabase();
    const serverKey = "Mid-server-outage-tests";
    await using sandbox = await openSandbox({ seed: undefined, serverKey });
    await using relay = openRelay();
    relay.target = sandbox.url;
    await using app = await openApp({ databaseUrl });
    const key = await app.createKey();
    const staff = await app.createKey({ userId: "ops", isStaff: true });
    const start = () =>
      startUntilUp({
        HOST: "127.0.0.1",
        DATABASE_URL: databaseUrl,
        GATEWAY_BASE_URL: relay.url,
        GATEWAY_SERVER_KEY: serverKey,
      });
    let service = await start();
    try {
      const post = async (path: string, body: Json) => {
        const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
        const init = { method: "POST", headers, body: JSON.stringify(body) };
        const response = await callService(service.url + path, init);
        assert.ok(response.ok, await response.clone().text());
        return await response.json();
      };
      const statusOf = async (id: string) =>
        JSON.parse((await service.get(`/payments/${id}/`, key)).text).transaction_status;
      const { id, order_id, transaction_id } = await post(
        "/charge/",
        await chargeRequest(sandbox, "card"),
      );
      await sandbox.control(`transactions/${transaction_id}/settle`);
      assert.equal((await service.get(`/payments/${id}/check_status/`, key)).status, 200);
      await sandbox.control(`transactions/${transaction_id}/chargeback`);
      const body = await findSentNotification({ sandbox } as TestPayments, order_id, "chargeback");
      relay.intercept = () => Response.json({ status_code: "500" }, { status: 500 });
      const { notification_id } = await post("/notification/", body);

      /** Makes the notification `days` old and its job due; resolves after the job has run. */
      const runAtAge = async (days: number) => {
        await runSql(
          databaseUrl,
          `update gateway.notifications set created_at = now() - interval '${days} days'`,
        );
        const [before] = await runSql(
          databaseUrl,
          `update gateway.jobs set run_at = now(), updated_at = now()
         where subject_id = '${notification_id}' and status = 'queued' returning updated_at`,
        );
        assert.ok(before, "the job is queued");
        await until("the job has run", async () => {
          const [job] = await jobsOf(app, notification_id);
          return job!.status !== "running" && job!.updated_at > before.updated_at;
        });
        const [job] = await jobsOf(app, notification_id);
        const [notification] = await runSql(
          databaseUrl,
          `select status from gateway.notifications where id = '${notification_id}'`,
        );
        return { status: notification!.status, job: job! };
      };
      await until("the first attempt has failed", async () => {
        const [job] = await jobsOf(app, notification_id);
        return job!.status === "queued" && job!.error !== null;
      });
      const afterSixDays = await runAtAge(6);
      assert.deepEqual([afterSixDays.status, afterSixDays.job.status, afterSixDays.job.attempts], [
        "received",
        "queued",
        0,
      ]);

      let status = "received";
      for (let runs = 0; status === "received"; runs++) {
        assert.ok(runs < 10, "the number of retries after 7 days is limited");
        ({ status } = await runAtAge(8));
      }
      assert.equal(status, "failed");
      const { notifications } = JSON.parse((await service.get("/status/", staff)).text);
      assert.equal(notifications.failed, 1);
      assert.equal(await statusOf(id), "settlement");

      service.signal("SIGKILL");
      await service.ended;
      relay.intercept = (_request, pass) => pass();
      const duePayments = await runSql(
        databaseUrl,
        "update gateway.payments set check_at = now() where check_at is not null returning id",
      );
      assert.deepEqual(duePayments.map((payment) => payment.id), [id], "the payment was left due");
      // At its start the service checks the payments that are due.
      service = await start();
      await until("the payment is charged back", async () => await statusOf(id) === "chargeback");
    } finally {
      service.signal("SIGKILL");
      await service.ended;
    }
  },
);
