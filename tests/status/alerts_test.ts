import assert from "node:assert/strict";
import { join } from "node:path";
import { recordGatewayCall } from "../../core/telemetry/telemetry.ts";
import { type Database, DatabaseUnavailable } from "../../db/connection/database.ts";
import type { TestAppOptions } from "../support/app.ts";
import { PUBLIC_URL, withCheckouts } from "../support/checkouts/checkouts.ts";
import { callService } from "../support/client.ts";
import { createDatabase } from "../support/database/database.ts";
import { freePort } from "../support/free_port.ts";
import { findSentNotification } from "../support/gateway/notifications.ts";
import { manualClock } from "../support/manual_clock.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { PROJECT } from "../support/project.ts";
import { evaluate, parseMetrics, type Scrape } from "../support/prometheus/promql.ts";

const TOKEN = "t".repeat(32);

/** In seconds; shorter than every range of the rules. */
const SCRAPE_INTERVAL = 240;

const CHARGE = { payment_type: "gopay", gross_amount: 1_000 };

/** The expressions of the rules, by the name of the alert. */
async function readRules(): Promise<Map<string, string>> {
  const text = await Deno.readTextFile(join(PROJECT, "deploy/prometheus-alerts.yaml"));
  const rules = text.split("- alert: ").slice(1).map((rule): [string, string] => {
    const [, expression] = /expr: (?:>-)?([\s\S]*?)\n +(?:for|labels):/.exec(rule)!;
    return [rule.slice(0, rule.indexOf("\n")), expression!.replaceAll(/\s+/g, " ").trim()];
  });
  return new Map(rules);
}

interface Situation extends TestPayments {
  /** The test changes these values; the app reads them. */
  state: {
    isDatabaseDown: boolean;
    loopDelayMs: number;
    clockOffsetMs: number;
    residentBytes: number;
  };
  advance(ms: number): void;
  stopServer(): Promise<void>;
  requestAsStaff(path: string, body: object): Promise<void>;
}

async function openSituation(options: Partial<TestAppOptions>) {
  const clock = manualClock();
  const state = {
    isDatabaseDown: false,
    loopDelayMs: 0,
    clockOffsetMs: 0,
    residentBytes: 100_000_000,
  };
  const unavailable = () => Promise.reject(new DatabaseUnavailable("down"));
  const payments = await openPayments({
    // Only a new database has an own connection pool, whose use is measured.
    databaseUrl: await createDatabase({ isNew: options.databaseDeadlineMs !== undefined }),
    now: clock.now,
    env: { METRICS_TOKEN: TOKEN, WEBHOOK_ALLOW_PRIVATE: "true" },
    load: {
      record: () => {},
      delayMs: () => state.loopDelayMs,
      rejectsNext: () => false,
      rejectedRequests: () => 0,
    },
    machine: {
      wall: () => Date.now() + state.clockOffsetMs,
      monotonic: () => performance.now(),
    },
    ...options,
    ...options.wrapDatabase && {
      wrapDatabase: (database: Database): Database => ({
        ...database,
        query: (...args) => state.isDatabaseDown ? unavailable() : database.query(...args),
      }),
    },
  });
  const staff = await payments.app.createKey({ userId: "ops", isStaff: true });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: freePort(), onListen: () => {} },
    (request, info) => payments.app.fetchUnchecked(request, info),
  );
  const url = `http://127.0.0.1:${server.addr.port}/metrics`;
  // The memory of this process depends on the tests that have run in it.
  const { memoryUsage } = Deno;
  Deno.memoryUsage = () => ({ ...memoryUsage(), rss: state.residentBytes });
  let isStopped = false;
  let at = 0;
  const situation: Situation = {
    ...payments,
    state,
    advance: clock.advance,
    async stopServer() {
      if (!isStopped) await server.shutdown();
      isStopped = true;
    },
    async requestAsStaff(path, body) {
      const response = await payments.app.as(staff, path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      assert.ok(response.ok, await response.text());
    },
  };

  /** As Prometheus does it: `up` says whether the instance responds. */
  async function scrape(): Promise<Scrape> {
    const headers = { Authorization: `Bearer ${TOKEN}`, Connection: "close" };
    const text = await callService(url, { headers }).then(
      (response) => response.text(),
      () => null,
    );
    const labels = { job: "payment-gateway", instance: "127.0.0.1" };
    return {
      at: at += SCRAPE_INTERVAL,
      series: [
        { name: "up", sample: { labels, value: text === null ? 0 : 1 } },
        ...parseMetrics(text ?? ""),
      ],
    };
  }

  return {
    situation,
    scrape,
    async [Symbol.asyncDispose]() {
      Deno.memoryUsage = memoryUsage;
      state.isDatabaseDown = false;
      await situation.stopServer();
      await payments[Symbol.asyncDispose]();
    },
  };
}

interface Cause {
  options?: Partial<TestAppOptions>;
  /** Called twice, with a scrape after each call; the result is called at the end. */
  cause(situation: Situation): Promise<void | (() => void)> | void | (() => void);
}

/** No server listens there. */
const NO_GATEWAY = { gatewayUrl: "http://127.0.0.1:2" };
/** Replaced by `openSituation`. */
const WITH_OUTAGES = { wrapDatabase: (database: Database) => database };

async function chargeMany({ post }: TestPayments, count: number, headers = {}): Promise<void> {
  for (let n = 0; n < count; n++) await (await post("/charge/", CHARGE, headers)).text();
}

const WITH_PAGES = { env: { METRICS_TOKEN: TOKEN, PUBLIC_URL } };

/** Both are rare, so the test stores them. */
async function payTwiceAndLate(situation: Situation): Promise<void> {
  const checkout = await withCheckouts(situation).create();
  const [first, second] = [await situation.paid("gopay"), await situation.paid("gopay")];
  await situation.app.database.query((sql) =>
    sql`update gateway.checkouts set status = 'paid', is_late = true, ended_at = created_at,
      payment_id = ${first.id}, extra_payment_id = ${second.id} where id = ${checkout.id}`
  );
}

const CAUSES: Record<string, Cause> = {
  PaymentGatewayInstanceDown: { cause: ({ stopServer }) => stopServer() },
  PaymentGatewayAbsent: { cause: ({ stopServer }) => stopServer() },
  PaymentGatewayMemory: {
    cause: ({ state }) => void (state.residentBytes = 1_100_000_000),
  },
  PaymentGatewayDatabaseDown: {
    options: WITH_OUTAGES,
    cause: ({ state }) => void (state.isDatabaseDown = true),
  },
  PaymentGatewayErrors: {
    options: WITH_OUTAGES,
    async cause({ state, get }) {
      state.isDatabaseDown = true;
      for (let n = 0; n < 3; n++) assert.equal((await get("/payments/")).status, 503);
    },
  },
  PaymentGatewayGatewayDown: {
    options: NO_GATEWAY,
    async cause({ app }) {
      for (let n = 0; n < 5; n++) await assert.rejects(app.gateway.getStatus("any"));
    },
  },
  PaymentGatewayGatewaySlow: {
    // A gateway that takes this long would delay the tests.
    cause: () => recordGatewayCall(6_000, { operation: "charge", result: "ok" }),
  },
  PaymentGatewayChargesFail: {
    options: NO_GATEWAY,
    cause: (situation) => chargeMany(situation, 2),
  },
  PaymentGatewayNoNotifications: { cause: (situation) => chargeMany(situation, 11) },
  PaymentGatewayNotificationsMissing: {
    async cause(situation) {
      for (let n = 0; n < 10; n++) await situation.paid("gopay");
      situation.advance(2 * 60_000);
    },
  },
  PaymentGatewayNotificationsRefused: {
    async cause({ post }) {
      for (let n = 0; n < 70; n++) await (await post("/notification/", {})).text();
    },
  },
  PaymentGatewayNotificationsFailed: {
    async cause(situation) {
      const payment = await situation.charge("gopay");
      await situation.sandbox.control(`transactions/${payment.transaction_id}/pay`);
      const body = await findSentNotification(situation, payment.order_id, "settlement");
      await situation.post("/notification/", body);
      await situation.app.database.query((sql) =>
        sql`update gateway.notifications set status = 'failed'`
      );
    },
  },
  PaymentGatewayPaidWithoutOwner: {
    async cause(situation) {
      const order_id = crypto.randomUUID();
      await situation.sandbox.paid("bca", { transaction_details: { order_id } });
      const body = await findSentNotification(situation, order_id, "settlement");
      await situation.post("/notification/", body);
    },
  },
  PaymentGatewayCheckoutPaidTwice: { options: WITH_PAGES, cause: payTwiceAndLate },
  PaymentGatewayCheckoutPaidLate: { options: WITH_PAGES, cause: payTwiceAndLate },
  PaymentGatewayJobsLate: {
    async cause(situation) {
      await chargeMany(situation, 1, { Prefer: "respond-async" });
      situation.advance(301_000);
    },
  },
  PaymentGatewayScheduleStopped: {
    async cause({ app, advance }) {
      await app.database.query((sql) =>
        sql`insert into gateway.cron_runs (task, minute, started_at)
          values ('any', now(), now()) on conflict do nothing`
      );
      advance(7_300_000);
    },
  },
  PaymentGatewayInvariantsLate: {
    async cause({ app }) {
      const result = JSON.stringify({ lag_seconds: 601, walk_seconds: 86_401 });
      await app.database.query((sql) =>
        sql`insert into gateway.cron_runs (task, minute, started_at, finished_at, result)
          values ('check_invariants', now(), now(), now(), ${result}::text::json)
          on conflict (task) do update set result = excluded.result`
      );
    },
  },
  PaymentGatewayEventsLate: {
    options: { hasPositionPublisher: false },
    async cause(situation) {
      await chargeMany(situation, 1);
      situation.advance(31_000);
    },
  },
  PaymentGatewayWebhooksLate: {
    async cause(situation) {
      await situation.requestAsStaff("/webhook-endpoints/", { url: "https://127.0.0.1:2/" });
      await chargeMany(situation, 1);
      await situation.app.publishEvents();
      situation.advance(3_601_000);
    },
  },
  PaymentGatewayWebhookEndpointDisabled: {
    cause: ({ requestAsStaff }) =>
      requestAsStaff("/webhook-endpoints/", { url: "https://127.0.0.1:2/", enabled: false }),
  },
  PaymentGatewayUnansweredCalls: {
    async cause(situation) {
      await chargeMany(situation, 11);
      // As if the gateway had not responded: a test with 22 timeouts would take too long.
      await situation.app.database.query((sql) =>
        sql`update gateway.payments set transaction_id = null`
      );
    },
  },
  PaymentGatewayOverloaded: { cause: ({ state }) => void (state.loopDelayMs = 600) },
  PaymentGatewayPoolExhausted: {
    options: { databaseDeadlineMs: 60_000 },
    cause({ app }) {
      const { promise, resolve } = Promise.withResolvers<void>();
      for (let n = 0; n < 9; n++) app.database.query(() => promise).catch(() => {});
      return resolve;
    },
  },
  PaymentGatewayClockWrong: { cause: ({ state }) => void (state.clockOffsetMs = 10_000) },
};

const RULES = await readRules();

Deno.test("alerts: a test causes each of the rules", () => {
  assert.deepEqual([...RULES.keys()].toSorted(), Object.keys(CAUSES).toSorted());
});

for (const [alert, { options = {}, cause }] of Object.entries(CAUSES)) {
  Deno.test(`alerts: ${alert} fires when its condition is caused, and not before`, async () => {
    await using opened = await openSituation(options);
    const rule = RULES.get(alert)!;
    const before = [await opened.scrape(), await opened.scrape()];
    assert.deepEqual(evaluate(rule, before), []);
    const ends: (void | (() => void))[] = [];
    try {
      const after: Scrape[] = [];
      for (let n = 0; n < 2; n++) {
        ends.push(await cause(opened.situation));
        after.push(await opened.scrape());
      }
      assert.notDeepEqual(evaluate(rule, after), []);
    } finally {
      for (const end of ends.toReversed()) end?.();
    }
  });
}
