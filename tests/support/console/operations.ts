/** Webhook deliveries, a job and notifications in various states, and the paths of their pages. */

import { randomUUID } from "node:crypto";
import { runSql } from "../database/database.ts";
import type { TestPayments } from "../payments/payments.ts";

/** Returns paths in the console without a leading or trailing slash, such as `events/0197…`. */
export async function addOperations(payments: TestPayments): Promise<string[]> {
  const { app, databaseUrl, post } = payments;
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const created = await post(
    "/webhook-endpoints/",
    {
      url: "https://shop.example/webhooks/payments",
      description: "The shop's order system",
    },
    {},
    staff,
  );
  const endpoint = await created.json();
  const payment = await payments.paid("gopay");
  await app.publishEvents();
  const [job, notification] = [randomUUID(), randomUUID()];
  await runSql(
    databaseUrl,
    `update gateway.webhook_deliveries set status = 'failed', attempts = 10, next_attempt_at = null,
      status_code = 502, answer = '<html><h1>Bad Gateway</h1></html>', duration_ms = 187,
      last_attempt_at = now()
      where event_name = 'payment_settled';
    update gateway.webhook_deliveries set status = 'delivered', attempts = 1, next_attempt_at = null,
      status_code = 200, answer = 'ok', duration_ms = 43, last_attempt_at = now(), delivered_at = now()
      where event_name = 'payment_received';
    insert into gateway.jobs (id, task, subject_id, payload, status, attempts, error, run_at,
      created_at, updated_at)
    values ('${job}', 'check_payment_status', '${payment.id}', '{}', 'failed', 6,
      'gateway_timeout: The gateway did not respond in time', now(), now(), now());
    insert into gateway.notifications (id, order_id, transaction_id, transaction_status, status_code,
      gross_amount, status, error_message, raw_payload, created_at, payment_id, payment_type)
    values ('${notification}', '${payment.order_id}', '${payment.transaction_id}', 'settlement', '200',
      '44000.00', 'failed', 'The gateway did not respond for 7 days.',
      '{"transaction_status":"settlement","gross_amount":"44000.00","payment_type":"gopay"}', now(),
      '${payment.id}', 'gopay'),
      ('${randomUUID()}', 'order-of-another-system', '${randomUUID()}', 'pending', '201', '75000.00',
      'unmatched', null, '{}', now(), null, 'qris');
    insert into gateway.cron_runs (task, minute, started_at, finished_at, result, error) values
      ('sweep_jobs', now(), now(), now(), '12', null),
      ('prune', now(), now(), now(), '{"jobs":120,"events":0}', null),
      ('expire_stale_payments', now(), now(), now(), null, 'The clock of this instance is wrong.')
    on conflict do nothing`,
  );
  const [event] = await runSql(
    databaseUrl,
    `select id from gateway.events where name = 'payment_settled' and resource_id = '${payment.id}'`,
  );
  return [
    `events/${event!.id}`,
    `webhooks/${endpoint.id}`,
    `webhooks/${endpoint.id}/edit`,
    `webhooks/${endpoint.id}/delete`,
    "webhooks/new",
    `notifications/${notification}`,
    `jobs/${job}`,
    "jobs/schedule",
  ];
}
