import assert from "node:assert/strict";
import { areMissing } from "../../core/attention/missing_notifications.ts";
import { findMissingNotifications } from "../../db/reports/missing_notifications.ts";
import { StatusSchema } from "../../routes/status/schemas.ts";
import { openStaff } from "../support/console/browsing.ts";
import { runSql } from "../support/database/database.ts";
import { manualClock } from "../support/manual_clock.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { openSimulatedDay, type SimulatedDay } from "../support/simulation/simulated_day.ts";

const MINUTE_MS = 60_000;

/** Nothing listens there, so the sandbox's notifications do not arrive. */
const PUBLIC_URL = "http://127.0.0.1:2";

async function missingOf({ app, get }: TestPayments) {
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const response = await get("/status/", staff);
  return StatusSchema.parse(await response.json()).missing_notifications;
}

/** Charges and pays this many payments, in parallel. */
async function payMany(day: SimulatedDay, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 20) {
    await Promise.all(Array.from({ length: Math.min(left, 20) }, async () => {
      const { transaction_id } = await day.charge("gopay");
      await day.sandbox.control(`transactions/${transaction_id}/pay`);
    }));
  }
}

async function attentionEvents(day: SimulatedDay): Promise<string[]> {
  await day.app.publishEvents();
  const names = "name=attention_raised&name=attention_cleared";
  const response = await day.get(`/events/?order=oldest_first&${names}`, day.staff);
  const events = await response.json() as { name: string; data: { cause: string } }[];
  return events.map(({ name, data }) => `${name} ${data.cause}`);
}

Deno.test("missing notifications: raise an alert within an hour after delivery stops, which ends after delivery works again", async () => {
  await using day = await openSimulatedDay();
  await payMany(day, 200);
  let minutes = 0;
  for (; minutes < 60 && !(await missingOf(day)).is_detected; minutes++) await day.tick();
  const missing = await missingOf(day);
  assert.ok(missing.is_detected, `not noticed in ${minutes} minutes`);
  assert.equal(missing.without_notification, missing.paid_payments);
  assert.ok(missing.paid_payments >= 10);
  assert.equal(missing.likely_reason, "none_arrive");
  assert.equal(missing.last_notification_at, null);
  assert.ok(Date.parse(missing.since!) <= day.app.service.clock());
  await day.tick();
  assert.deepEqual(await attentionEvents(day), ["attention_raised notifications_missing"]);

  // On a slow machine, some of the payments are checked only in the next minutes.
  const pending = () =>
    day.app.database.query((sql) =>
      sql`select from gateway.payments where transaction_status = 'pending'`
    );
  while ((await pending()).length > 0) await day.tick();

  // In a quiet hour the service learns nothing, so the alert lasts.
  await day.advance(2 * 3_600);
  await day.tickMinutes(2);
  const quiet = await missingOf(day);
  assert.deepEqual([quiet.is_detected, quiet.paid_payments], [true, 0]);
  assert.equal(quiet.since, missing.since);

  day.delivery = "signed";
  await payMany(day, 20);
  await day.tickMinutes(3);
  const repaired = await missingOf(day);
  assert.deepEqual([repaired.paid_payments, repaired.without_notification], [20, 0]);
  assert.deepEqual([repaired.is_detected, repaired.since, repaired.likely_reason], [
    false,
    null,
    null,
  ]);
  assert.deepEqual(await attentionEvents(day), [
    "attention_raised notifications_missing",
    "attention_cleared notifications_missing",
  ]);
});

Deno.test("missing notifications: an alert needs ten paid payments and half of their notifications missing", () => {
  const found = (paid: number, missing: number) => ({
    paid,
    missing,
    since: null,
    lastNotification: null,
  });
  assert.equal(areMissing(found(9, 9), false), false);
  assert.equal(areMissing(found(10, 4), false), false);
  assert.equal(areMissing(found(10, 5), false), true);
  assert.equal(areMissing(found(10, 2), true), true);
  assert.equal(areMissing(found(10, 1), true), false);
  assert.equal(areMissing(found(0, 0), true), true);
  assert.equal(areMissing(found(3, 1), true), true);
  assert.equal(areMissing(found(3, 0), true), false);
});

Deno.test("missing notifications: a payment counts by how it became paid, and not if its notification arrived later", async () => {
  const clock = manualClock();
  await using payments = await openPayments({ now: clock.now });
  const asked = await payments.paid("gopay");
  await payments.paid("card");
  const { order_id } = await payments.paid("qris");
  const url = payments.databaseUrl;
  clock.advance(2 * MINUTE_MS);
  const read = () =>
    payments.app.database.query((sql) =>
      findMissingNotifications(sql, {
        from: new Date(clock.now() - 60 * MINUTE_MS),
        to: new Date(clock.now() - MINUTE_MS),
      })
    );
  // The charge itself said that the card payment is paid.
  const since = new Date(clock.now() - 2 * MINUTE_MS);
  assert.deepEqual(await read(), { paid: 2, missing: 2, since, lastNotification: null });

  // The doctor's notifications to itself match no payment.
  await insertNotification(url, `doctor:${crypto.randomUUID()}`, "settlement", clock.now());
  await insertNotification(url, order_id, "pending", clock.now() - 30_000);
  const lastNotification = new Date(clock.now() - 30_000);
  assert.deepEqual(await read(), { paid: 2, missing: 2, since, lastNotification });
  await insertNotification(url, asked.order_id, "settlement", clock.now());
  assert.equal((await read()).missing, 1);

  // Staff took the other one over from a report, so no notification was expected.
  await runSql(url, "update gateway.history set source = 'take_over' where source <> 'charge'");
  assert.deepEqual([(await read()).paid, (await read()).missing], [0, 0]);
});

async function insertNotification(
  url: string,
  orderId: string,
  status: string,
  at: number,
): Promise<void> {
  await runSql(
    url,
    `insert into gateway.notifications (id, order_id, transaction_status, status_code, gross_amount,
       status, raw_payload, created_at)
     values (gen_random_uuid(), '${orderId}', '${status}', '200', '1.00', 'processed', '{}',
       '${new Date(at).toISOString()}')`,
  );
}

Deno.test("missing notifications: the console says that they do not arrive, since when, and links to the doctor", async () => {
  const clock = manualClock();
  await using payments = await openPayments({ now: clock.now, env: { PUBLIC_URL } });
  for (let count = 0; count < 10; count++) await payments.paid("gopay");
  clock.advance(2 * MINUTE_MS);
  assert.equal((await missingOf(payments)).doctor_url, `${PUBLIC_URL}/console/doctor/`);
  const staff = await openStaff(payments);
  assert.match((await staff.open("/console/")).html, /Notifications do not arrive/);
  const { html } = await staff.open("/console/status/");
  assert.match(html, /notifications of 10 of 10 payments in the last hour did not arrive/);
  assert.match(html, /<dt>Since<\/dt><dd><time/);
  assert.match(html, /No notification at all arrived in the last hour/);
  assert.match(html, /href="\/console\/doctor\/"/);
  clock.advance(2 * 60 * MINUTE_MS);
  assert.doesNotMatch((await staff.open("/console/status/")).html, /do not arrive/);
});
