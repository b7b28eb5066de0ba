import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { callService } from "../support/client.ts";
import { type Collector, openCollector, type Span } from "../support/collector.ts";
import { createDatabase } from "../support/database/database.ts";
import { CLIENT_KEY, openSandbox, type TestSandbox } from "../support/gateway/sandbox.ts";
import { CARDS, pay } from "../support/gateway/snap.ts";
import { PROJECT } from "../support/project.ts";
import { environment, PATIENT, type ServiceProcess, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

const SERVER_KEY = "SB-Mid-server-of-the-telemetry-test";
const STAFF_KEY = `gk_${randomBytes(32).toString("base64url")}`;

const ENV_FILE = "--env-file=deploy/telemetry.env";

/** Not `deno task`, so that signals reach the service itself. */
const COMMAND = [
  ...[Deno.execPath(), "run", ENV_FILE, "-q", "--no-prompt", PATIENT],
  ...["--allow-net", "--allow-env", "--allow-sys=homedir"],
  ...["--allow-read=db/migrations", "--ignore-read", "main.ts"],
];

/** The real service, exporting telemetry to the test's collector. */
async function openTracedService(): Promise<
  { service: ServiceProcess; collector: Collector; sandbox: TestSandbox } & AsyncDisposable
> {
  const resources = new AsyncDisposableStack();
  const collector = resources.use(openCollector());
  const sandbox = resources.use(await openSandbox({ serverKey: SERVER_KEY }));
  const settings = {
    ...collector.settings,
    HOST: "127.0.0.1",
    DATABASE_URL: await createDatabase(),
    GATEWAY_SERVER_KEY: SERVER_KEY,
    GATEWAY_BASE_URL: sandbox.url,
    BOOTSTRAP_STAFF_KEY: STAFF_KEY,
    // Nothing listens there: no notification of the sandbox leaves this machine.
    PUBLIC_URL: "http://127.0.0.1:2",
  };
  const service = resources.use(await startService({ settings, command: COMMAND }));
  return {
    ...{ service, collector, sandbox },
    async [Symbol.asyncDispose]() {
      // At exit Deno waits for the last export, sometimes forever (denoland/deno#33157).
      service.signal("SIGKILL");
      await service.ended;
      await resources.disposeAsync();
    },
  };
}

/**
 * Sends a request in a trace, waits for its span, which has the path `shownPath`, and returns the
 * children of that span.
 */
async function trace(
  { service, collector }: { service: ServiceProcess; collector: Collector },
  path: string,
  init: RequestInit = {},
  shownPath = path,
): Promise<{ status: number; body: string; children: Span[] }> {
  const traceId = randomBytes(16).toString("hex");
  const headers = {
    Authorization: `Bearer ${STAFF_KEY}`,
    "Content-Type": "application/json",
    traceparent: `00-${traceId}-${randomBytes(8).toString("hex")}-01`,
  };
  const response = await callService(service.url + path, { ...init, headers });
  const body = await response.text();
  // The span of the request ends last, and spans are exported in the order in which they end.
  const find = () =>
    collector.spansOf(traceId).find(({ attributes }) => attributes["url.path"] === shownPath);
  await until(`the span of ${path} arrives`, () => find() !== undefined);
  const { spanId } = find()!;
  const children = collector.spansOf(traceId).filter((span) => span.parentSpanId === spanId);
  return { status: response.status, body, children };
}

function charge(orderId: string): RequestInit {
  const body = { payment_type: "bank_transfer", bank: "bca", gross_amount: 44_000 };
  return { method: "POST", body: JSON.stringify({ ...body, order_id: orderId }) };
}

Deno.test("telemetry: of the service, with the defaults of OpenTelemetry", async (t) => {
  await using traced = await openTracedService();
  const { collector } = traced;

  await t.step(
    "a charge has spans of the database, the gateway, and the database again",
    async () => {
      const { status, children } = await trace(traced, "/charge/", charge("order-1"));
      assert.equal(status, 201);
      // The first span is the query for the API key.
      const [keyQuery, before, gateway, after, ...more] = children;
      assert.deepEqual(more, []);
      assert.match(keyQuery!.name, /^db /);
      for (const span of [before, after]) {
        assert.equal(span!.attributes["db.system.name"], "postgresql");
        assert.equal(span!.hasFailed, false);
      }
      assert.equal(gateway!.name, "gateway charge");
      assert.deepEqual(gateway!.attributes, { "gateway.status_code": "201" });
    },
  );

  await t.step("the added latency of each charge is recorded", async () => {
    await trace(traced, "/charge/", charge("order-2"));
    const metric = "payment_gateway.charge.added_latency";
    await until(
      "both charges have been counted",
      () => collector.countOf(metric, { payment_type: "bank_transfer" }) === 2,
    );
  });

  await t.step(
    "the span of a failed gateway call has the failure and the outcome, but no error message",
    async () => {
      await traced.sandbox.fault("charge", "reset");
      const { children } = await trace(traced, "/charge/", charge("order-3"));
      const gateway = children.find(({ name }) => name === "gateway charge");
      assert.equal(gateway?.hasFailed, true);
      assert.deepEqual(gateway.attributes, {
        "gateway.failure": "unreachable",
        "gateway.outcome": "unknown",
        "error.type": "GatewayAPIError",
      });
    },
  );

  await t.step("the spans of a card in a checkout have no token, link or card number", async () => {
    const created = await trace(traced, "/checkouts/", {
      method: "POST",
      body: JSON.stringify({ gross_amount: 44_000 }),
    });
    const { checkout_url, order_id } = JSON.parse(created.body);
    const { pathname } = new URL(checkout_url);
    const choose = async (method: string) => {
      const form = new URLSearchParams({ method });
      const init = { method: "POST", body: form, redirect: "manual" } as const;
      const response = await callService(traced.service.url + pathname, init);
      await response.body?.cancel();
      assert.equal(response.status, 303);
    };
    await choose("credit_card");
    const [{ token }] = await traced.sandbox.get(`/_sandbox/snap?order_id=${order_id}`);
    await pay(traced.sandbox, token, { card_number: CARDS.denied });
    await trace(traced, `${pathname}/return`, { redirect: "manual" }, "/pay/");
    await choose("qris");
    await trace(traced, pathname, {}, "/pay/");
    const spans = collector.text();
    assert.match(spans, /gateway createSnapPage/);
    assert.match(spans, /gateway cancelSnapPage/);
    for (const secret of [token, pathname.slice("/pay/".length), CARDS.denied]) {
      assert.ok(!spans.includes(secret), secret);
    }
  });

  await t.step("the span of a payment page has neither its path nor its token", async () => {
    const created = await trace(traced, "/checkouts/", {
      method: "POST",
      body: JSON.stringify({ gross_amount: 44_000 }),
    });
    const { pathname } = new URL(JSON.parse(created.body).checkout_url);
    for (const path of [pathname, `${pathname}/state`]) {
      const { status, children } = await trace(traced, `${path}?lang=en`, {}, "/pay/");
      assert.equal(status, 200);
      assert.ok(children.length > 0);
    }
    assert.ok(!collector.text().includes(pathname.split("/").at(-1)!));
  });

  await t.step("spans and metrics have the name of the service, and no secrets", () => {
    assert.deepEqual([...new Set(collector.services())], ["payment-gateway"]);
    const text = collector.text();
    assert.match(text, /gateway charge/);
    for (const secret of [STAFF_KEY, SERVER_KEY, btoa(`${SERVER_KEY}:`)]) {
      assert.ok(!text.includes(secret));
    }
  });
});

Deno.test("telemetry: contains no card data from URLs, and the service name in OTEL_SERVICE_NAME", async () => {
  await using collector = openCollector();
  await using sandbox = await openSandbox({ serverKey: SERVER_KEY });
  const keys = { baseUrl: sandbox.url, serverKey: SERVER_KEY, clientKey: CLIENT_KEY };
  const program = `
    import { createGatewayClient } from "${PROJECT}/core/gateway/client.ts";
    const client = createGatewayClient(${JSON.stringify(keys)});
    const { body } = await client.getCardToken("4811111111111114", 12, 2099, "123");
    await client.pointInquiry(body.token_id).catch(() => {});
    console.log(body.token_id);
  `;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", ENV_FILE, "-q", "--ext=ts", program],
    env: environment({
      ...collector.settings,
      OTEL_SERVICE_NAME: "shop",
      OTEL_DENO_CONSOLE: "ignore",
    }),
    clearEnv: true,
    cwd: PROJECT,
  }).output();
  const token = new TextDecoder().decode(stdout).trim();
  assert.match(token, /^[\w-]{20,}$/);

  await until(
    "the span of the inquiry has arrived",
    () => collector.text().includes("gateway pointInquiry"),
  );
  assert.deepEqual([...new Set(collector.services())], ["shop"]);
  for (const secret of ["4811111111111114", CLIENT_KEY, token]) {
    assert.ok(!collector.text().includes(secret));
  }
});

Deno.test("telemetry: the tasks that start the service read the defaults of OpenTelemetry", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(join(PROJECT, "deno.json")));
  for (const name of ["start", "run"]) assert.ok(tasks[name].includes(ENV_FILE), name);
});

Deno.test("telemetry: the container file sets the defaults of OpenTelemetry", async () => {
  const defaults = (await Deno.readTextFile(join(PROJECT, "deploy/telemetry.env"))).split("\n")
    .filter((line) => line && !line.startsWith("#"));
  const instructions = (await Deno.readTextFile(join(PROJECT, "Containerfile"))).split("\n");
  assert.deepEqual(defaults.filter((line) => !instructions.includes(`ENV ${line}`)), []);
});
