import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseUnavailable } from "../../db/connection/database.ts";
import { createDatabase } from "../support/database/database.ts";
import { findSentNotification } from "../support/gateway/notifications.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { PROJECT } from "../support/project.ts";

const TOKEN = "t".repeat(32);

const databaseUrl = await createDatabase();

interface Measured extends TestPayments {
  staff: string;
  scrape(key?: string): Promise<string>;
  /** The value of a series, such as `charges_total{result="pending"}`; 0: there is none. */
  value(series: string): Promise<number>;
}

async function openMeasured(options = {}): Promise<Measured> {
  const payments = await openPayments({ databaseUrl, env: { METRICS_TOKEN: TOKEN }, ...options });
  const staff = await payments.app.createKey({ userId: "ops", isStaff: true });
  const scrape = async (key = staff) => {
    const response = await payments.get("/metrics", key);
    assert.equal(response.status, 200, await response.clone().text());
    assert.equal(
      response.headers.get("content-type"),
      "text/plain; version=0.0.4; charset=utf-8",
    );
    return await response.text();
  };
  return {
    ...payments,
    staff,
    scrape,
    async value(series) {
      const start = `payment_gateway_${series} `;
      const line = (await scrape()).split("\n").find((each) => each.startsWith(start));
      return line === undefined ? 0 : Number(line.slice(start.length));
    },
  };
}

/** By how much `work` raises each of these values. */
async function growth(
  { value }: Measured,
  series: string[],
  work: () => Promise<unknown>,
): Promise<number[]> {
  const before: number[] = [];
  for (const each of series) before.push(await value(each));
  await work();
  const after: number[] = [];
  for (const each of series) after.push(await value(each));
  return after.map((number, index) => number - before[index]!);
}

Deno.test("metrics route: counts requests by route and status, and charges by type and result", async () => {
  await using payments = await openMeasured();
  const series = [
    'requests_duration_milliseconds_count{method="POST",route="/charge/",status="201"}',
    'requests_duration_milliseconds_bucket{method="POST",route="/charge/",status="201",le="+Inf"}',
    'requests_duration_milliseconds_count{method="POST",route="/charge/",status="400"}',
    'charges_total{payment_type="gopay",result="pending"}',
    'charges_total{payment_type="gopay",result="duplicate_order"}',
    'charge_added_latency_milliseconds_count{payment_type="gopay"}',
    'gateway_duration_milliseconds_count{operation="charge",result="ok"}',
  ];
  const grown = await growth(payments, series, async () => {
    const order_id = crypto.randomUUID();
    await payments.charge("gopay", { order_id });
    const again = { payment_type: "gopay", gross_amount: 44_000, order_id };
    await assertProblem(await payments.post("/charge/", again), 400, "duplicate_order");
  });
  assert.deepEqual(grown, [1, 1, 1, 1, 1, 1, 1]);
});

Deno.test("metrics route: counts notifications by result, and calls to the gateway that fail", async () => {
  await using payments = await openMeasured();
  const payment = await payments.charge("gopay");
  await payments.sandbox.control(`transactions/${payment.transaction_id}/pay`);
  const body = await findSentNotification(payments, payment.order_id, "settlement");
  const series = [
    'notifications_results_total{result="processed"}',
    'notifications_results_total{result="duplicate"}',
    'notifications_refused_total{reason="signature_invalid"}',
    'gateway_duration_milliseconds_count{operation="cancel",result="error"}',
  ];
  const grown = await growth(payments, series, async () => {
    for (let i = 0; i < 2; i++) await payments.post("/notification/", body);
    await payments.post("/notification/", { ...body, signature_key: "0".repeat(128) });
    await payments.app.gateway.cancel(payment.transaction_id!, {}).catch(() => {});
  });
  assert.deepEqual(grown, [1, 1, 1, 1]);
});

Deno.test("metrics route: shows the state of jobs, events, the event loop, the connection pool and the build", async () => {
  await using payments = await openMeasured({ databaseUrl: await createDatabase({ isNew: true }) });
  await payments.post(
    "/charge/",
    { payment_type: "gopay", gross_amount: 44_000 },
    { Prefer: "respond-async" },
  );
  assert.ok(await payments.value('jobs{task="process_charge_async",status="queued"}') >= 1);
  const text = await payments.scrape();
  for (
    const line of [
      /^payment_gateway_jobs_oldest_age_seconds [\d.]+$/m,
      /^payment_gateway_events_publication_lag_seconds [\d.]+$/m,
      /^payment_gateway_event_loop_delay_milliseconds [\d.]+$/m,
      /^payment_gateway_memory_resident_bytes \d+$/m,
      /^payment_gateway_memory_heap_bytes \d+$/m,
      /^payment_gateway_database_up 1$/m,
      /^payment_gateway_database_pool_size 4$/m,
      /^payment_gateway_database_pool_calls \d+$/m,
      /^payment_gateway_gateway_down\{calls="read"\} 0$/m,
      /^payment_gateway_clock_offset_milliseconds\{of="database"\} \S+$/m,
      /^payment_gateway_build_info\{version="[\d.]+",build="",deno="[\d.]+"\} 1$/m,
    ]
  ) assert.match(text, line);
});

Deno.test("metrics route: staff, viewers and the token can read it, other callers cannot", async () => {
  await using payments = await openMeasured();
  const viewer = await payments.app.createKey({ userId: "vera", isViewer: true });
  for (const key of [payments.staff, viewer, TOKEN]) await payments.scrape(key);
  await assertProblem(await payments.get("/metrics"), 403, "forbidden");
  await assertProblem(await payments.get("/metrics", "wrong"), 401, "unauthenticated");
  await assertProblem(await payments.app.request("/metrics"), 401, "unauthenticated");
  for (const path of ["/status/", "/payments/", "/audit/"]) {
    const response = await payments.get(path, TOKEN);
    await assertProblem(response, 401, "unauthenticated");
  }
});

Deno.test("metrics route: without METRICS_TOKEN, the token is not accepted", async () => {
  await using payments = await openMeasured({ env: {} });
  await assertProblem(await payments.get("/metrics", TOKEN), 401, "unauthenticated");
});

Deno.test("metrics route: while the database is down, the token still gets the metrics of the instance", async () => {
  let isDown = false;
  const unavailable = () => Promise.reject(new DatabaseUnavailable("down"));
  await using payments = await openMeasured({
    wrapDatabase: (database: TestPayments["app"]["database"]) => ({
      ...database,
      query: (...args: Parameters<typeof database.query>) =>
        isDown ? unavailable() : database.query(...args),
    }),
    machine: { wall: Date.now, monotonic: () => performance.now() },
  });
  isDown = true;
  const text = await payments.scrape(TOKEN);
  assert.match(text, /^payment_gateway_database_up 0$/m);
  assert.match(text, /^payment_gateway_build_info\{/m);
  assert.doesNotMatch(text, /^payment_gateway_jobs_oldest_age_seconds /m);
  isDown = false;
});

Deno.test("metrics route: a label with quotes and line breaks is escaped", async () => {
  await using payments = await openMeasured();
  await payments.app.database.query((sql) =>
    sql`insert into gateway.cron_runs (task, minute, started_at)
      values (${'odd "task"\\\nname'}, now(), now())`
  );
  const text = await payments.scrape();
  assert.ok(text.includes('payment_gateway_schedule_running{task="odd \\"task\\"\\\\\\nname"} 1'));
});

for (const file of ["grafana-dashboard.json", "prometheus-alerts.yaml"]) {
  Deno.test(`deploy/${file}: names only metrics that the service has`, async () => {
    await using payments = await openMeasured();
    const text = await Deno.readTextFile(join(PROJECT, "deploy", file));
    const named = new Set(text.match(/\bpayment_gateway_\w+/g));
    assert.ok(named.size >= 15, `${named.size} metrics`);
    const known = new Map(
      [...(await payments.scrape()).matchAll(/^# TYPE (\w+) (\w+)$/gm)]
        .map(([, name, type]) => [name!, type!]),
    );
    for (const name of named) {
      const family = known.has(name) ? name : name.replace(/_(bucket|count|sum)$/, "");
      assert.ok(known.has(family), `${name} does not exist`);
      assert.equal(known.get(family) === "histogram", family !== name, `${name}: wrong type`);
    }
  });
}
