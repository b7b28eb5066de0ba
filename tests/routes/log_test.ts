import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { permissionFlags } from "../../commands/prepare.ts";
import { createLog } from "../../core/telemetry/log.ts";
import { DatabaseUnavailable } from "../../db/connection/database.ts";
import { openApp } from "../support/app.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { manualClock } from "../support/manual_clock.ts";
import { assertProblem } from "../support/problem.ts";
import { PROJECT } from "../support/project.ts";
import { PATIENT, startService } from "../support/service.ts";

const CHARGE = { payment_type: "gopay", gross_amount: 1_000 };

/** The log of one request: the error, if there is one, and the request's line. */
async function logOf({ app }: RelayedPayments, request: () => Promise<unknown>): Promise<Json[]> {
  const before = app.logged().length;
  await request();
  return app.logged().slice(before);
}

Deno.test("log: a readiness probe while the instance drains is not logged as an error", async () => {
  await using app = await openApp({
    databaseUrl: await createDatabase(),
    isDraining: () => true,
  });
  await assertProblem(await app.request("/health/ready/"), 503, "unavailable");
  const [line, ...others] = app.logged();
  assert.deepEqual([line!.level, line!.event, line!.status, line!.code], [
    ...["info", "request", 503, "unavailable"],
  ]);
  assert.deepEqual(others, []);
});

Deno.test("log: errors of one kind are written once a second, and their repetitions are counted", () => {
  const clock = manualClock();
  let text = "";
  const log = createLog((lines) => text += lines, clock.now);
  // 50 failed requests a second, for two minutes.
  for (let n = 0; n < 120 * 50; n++) {
    log.error("unavailable", new DatabaseUnavailable("no response"), { request_id: randomUUID() });
    clock.advance(20);
  }
  log.flush();
  const lines: Json[] = text.trimEnd().split("\n").map((line) => JSON.parse(line));
  const withError = lines.filter(({ error }) => error?.stack);
  assert.equal(withError.length, 120);
  const repeated = lines.filter((line) => line.repeated !== undefined);
  assert.deepEqual([...new Set(repeated.map((line) => line.repeated))], [49]);
  assert.equal(withError.length + repeated.length, lines.length);
});

Deno.test("log: errors about different records are all written", () => {
  let text = "";
  const log = createLog((lines) => text += lines, manualClock().now);
  const error = new Error("differs");
  for (const payment_id of ["1", "2", "2"]) log.error("charge_differs", error, { payment_id });
  log.error("other_transaction", error, { payment_id: "1" });
  log.flush();
  const lines: Json[] = text.trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(({ event, payment_id, repeated }) => [event, payment_id, repeated]), [
    ["charge_differs", "1", undefined],
    ["charge_differs", "2", undefined],
    ["other_transaction", "1", undefined],
    ["charge_differs", "2", 1],
  ]);
});

/** Failures of the gateway during a charge, with the code of the response. */
const FAILURES = [
  ["error_500", 400, "gateway_error"],
  ["broken_json", 400, "gateway_error"],
  ["reset", 502, "gateway_unreachable"],
] as const;

for (const [fault, status, code] of FAILURES) {
  Deno.test(`log: a charge that failed at the gateway (${fault}) is logged as an error with its code, payment and order`, async () => {
    await using payments = await openRelayed({ databaseUrl: await createDatabase() });
    const order_id = "order-of-a-charge";
    await payments.sandbox.fault("charge", fault);
    const [failure, request, ...others] = await logOf(payments, async () => {
      const response = await payments.post("/charge/", { ...CHARGE, order_id });
      const { payment_id } = await assertProblem(response, status, code);
      assert.ok(payment_id);
    });
    assert.deepEqual(others, []);
    const [payment] = await runSql(payments.databaseUrl, "select id from gateway.payments");
    assert.deepEqual([failure.level, failure.event], ["error", code]);
    assert.ok(failure.error.message);
    assert.deepEqual([request.level, request.event], ["info", "request"]);
    for (const line of [failure, request]) {
      assert.deepEqual(
        [line.code, line.payment_id, line.order_id, line.outcome],
        [code, payment!.id, order_id, "unknown"],
      );
    }
    assert.equal(failure.request_id, request.request_id);
  });
}

Deno.test("log: a charge that the gateway rejected is not logged as an error, and its line has the code, payment and order", async () => {
  await using payments = await openRelayed({ databaseUrl: await createDatabase() });
  const order_id = "order-of-a-charge";
  payments.relay.intercept = () =>
    Response.json({ status_code: "400", status_message: "No.", validation_messages: ["No."] });
  const [line, ...others] = await logOf(payments, async () => {
    const response = await payments.post("/charge/", { ...CHARGE, order_id });
    await assertProblem(response, 400, "gateway_validation");
  });
  assert.deepEqual(others, []);
  assert.deepEqual([line.level, line.event, line.code, line.order_id, line.outcome], [
    ...["info", "request", "gateway_validation", order_id, "refused"],
  ]);
  assert.ok(line.payment_id);
});

Deno.test("log: a rejected server key is logged as an error", async () => {
  await using payments = await openRelayed({ databaseUrl: await createDatabase() });
  payments.relay.intercept = () => Response.json({ status_code: "401" }, { status: 401 });
  const [failure] = await logOf(payments, () => payments.post("/charge/", CHARGE));
  assert.deepEqual([failure.level, failure.event], ["error", "gateway_authentication"]);
});

Deno.test("log: an order id that looks like a secret is redacted", async () => {
  await using payments = await openRelayed({ databaseUrl: await createDatabase() });
  await payments.sandbox.fault("charge", "error_500");
  const order_id = "4811111111111114";
  const lines = await logOf(payments, () => payments.post("/charge/", { ...CHARGE, order_id }));
  assert.deepEqual(lines.map((line) => line.order_id), ["[number]", "[number]"]);
});

Deno.test("log: an order id that is a UUID is not redacted, even if it has as many digits as a card number", async () => {
  await using payments = await openRelayed({ databaseUrl: await createDatabase() });
  await payments.sandbox.fault("charge", "error_500");
  const order_id = "17823922-1349-4027-ae2b-afcd291aacc7";
  const lines = await logOf(payments, () => payments.post("/charge/", { ...CHARGE, order_id }));
  assert.deepEqual(lines.map((line) => line.order_id), [order_id, order_id]);
});

Deno.test("service process: every line of its output is JSON if it is not printed to a terminal", async () => {
  const databaseUrl = await createDatabase({ template: null });
  const flags = permissionFlags({ queue: "postgres", dataDir: "/nowhere" }, null, PROJECT);
  const service = await startService({
    command: [Deno.execPath(), "run", "-q", "--no-prompt", PATIENT, ...flags, "main.ts"],
    settings: {
      HOST: "127.0.0.1",
      DATABASE_URL: databaseUrl,
      GATEWAY_BASE_URL: "http://127.0.0.1:2",
      GATEWAY_SERVER_KEY: "Mid-server-log-tests",
      BUILD: "ee3612b0",
    },
  });
  service.signal("SIGTERM");
  const { code, stdout, stderr } = await service.ended;
  assert.equal(code, 0, stderr);
  const lines: Json[] = (stderr + stdout).split("\n").filter(Boolean).map((line) =>
    JSON.parse(line)
  );
  for (const line of lines) {
    // A scheduled task fails if the database responds late, which depends on the machine.
    const isExpected = line.level === "info" || /^tick_(failed|interrupted)$/.test(line.event);
    assert.ok(Date.parse(line.time) > 0 && isExpected, JSON.stringify(line));
  }
  const messages = lines.filter(({ event }) => event === "start_up").map(({ message }) => message);
  assert.ok(messages.includes("Applied migration 0001_keys_and_sessions"), messages.join("\n"));
  const { version, build } = lines.find(({ event }) => event === "started");
  assert.deepEqual([version, build], ["1.0.0", "ee3612b0"]);
});
