import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { registerCrons } from "../../commands/crons.ts";
import { DEPLOY_STOP } from "../../commands/deploy.ts";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { JobSchema } from "../../routes/jobs/schema.ts";
import { callService, sendUntilAnswered } from "../support/client.ts";
import { createDatabase, createLimitedDatabase } from "../support/database/database.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { createDeployment, type Deployment } from "../support/deno_deploy.ts";
import { openRelay } from "../support/gateway/relay.ts";
import { openSandbox } from "../support/gateway/sandbox.ts";
import { recordCrons } from "../support/jobs/record_crons.ts";
import { PROJECT } from "../support/project.ts";
import { errorsIn } from "../support/logged_errors.ts";
import { environment } from "../support/service.ts";
import { inTime, until } from "../support/until.ts";

const SERVER_KEY = "Mid-server-deploy";
const STAFF_KEY = "gk_" + "d".repeat(43);

/** Milliseconds from the signal until Deno Deploy kills an instance. */
const PLATFORM_KILLS_MS = 5_000;

/** A database of Deno Deploy allows 10 direct connections and reserves 5 of them. */
const DIRECT_CONNECTIONS = 5;

const SECRETS = { GATEWAY_SERVER_KEY: SERVER_KEY, BOOTSTRAP_STAFF_KEY: STAFF_KEY };

let deployment: Deployment;

Deno.test.beforeAll(async () => {
  deployment = await createDeployment();
});

Deno.test.afterAll(async () => {
  await deployment[Symbol.asyncDispose]();
});

function charge(url: string, headers: HeadersInit = {}): Promise<Response> {
  return callService(`${url}/charge/`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${STAFF_KEY}`,
      "Content-Type": "application/json",
      ...headers,
    },
    body: JSON.stringify({ payment_type: "bank_transfer", bank: "bca", gross_amount: 44_000 }),
  });
}

/**
 * Evaluates main.ts with a recorder of crons, and returns what it registered before it listened.
 */
async function evaluate(settings: Record<string, string>): Promise<[string, string][]> {
  const script = join(deployment.folder, "evaluate.ts");
  await Deno.writeTextFile(
    script,
    `
    const crons = [];
    const replace = (name, value) => Object.defineProperty(Deno, name, { value });
    replace("cron", (name, schedule) => (crons.push([name, schedule]), Promise.resolve()));
    replace("serve", () => (console.log(JSON.stringify(crons)), Deno.exit(0)));
    await import(${JSON.stringify(join(deployment.folder, "main.ts"))});`,
  );
  const [program, ...args] = deployment.command("evaluate.ts");
  const { stdout, stderr } = await new Deno.Command(program!, {
    args,
    cwd: deployment.folder,
    env: environment({ DENO_DEPLOY: "true", ...settings }),
    clearEnv: true,
  }).output();
  const lines = new TextDecoder().decode(stdout).trim().split("\n");
  assert.ok(lines.at(-1)?.startsWith("["), new TextDecoder().decode(stderr));
  return JSON.parse(lines.at(-1)!);
}

Deno.test("Deno Deploy: evaluating main.ts without settings and without a database finds its only cron", async () => {
  const expected = [["schedule", "* * * * *"]];
  assert.deepEqual(await evaluate({}), expected);
  const DATABASE_URL = "postgres://127.0.0.1:2/none";
  assert.deepEqual(await evaluate({ DATABASE_URL, ...SECRETS }), expected);
});

Deno.test("Deno Deploy: main.ts registers the crons before it awaits anything", async () => {
  const text = await Deno.readTextFile(join(PROJECT, "main.ts"));
  const statements = text.slice(text.lastIndexOf("const [name"));
  assert.ok(statements.includes("registerCrons()"));
  assert.ok(statements.indexOf("registerCrons()") < statements.indexOf("await "));
});

Deno.test("Deno Deploy: deno.json turns on the features that Deno 2.5 does not have by default", async () => {
  const { unstable } = JSON.parse(await Deno.readTextFile(join(PROJECT, "deno.json")));
  for (const name of ["cron", "raw-imports"]) assert.ok(unstable.includes(name), name);
});

Deno.test("crons: a tick waits until the service is ready, and ends without a run if it cannot start", async () => {
  using recorded = recordCrons();
  let runs = 0;
  const crons = registerCrons();
  const tick = recorded.registered[0]!.run();
  assert.equal(runs, 0);
  crons.start(() => Promise.resolve(void runs++));
  await tick;
  assert.equal(runs, 1);

  recorded.registered.length = 0;
  const skipped = registerCrons();
  const waiting = recorded.registered[0]!.run();
  skipped.skip();
  await waiting;
  assert.ok(recorded.registered.every(({ signal }) => !signal.aborted), "they stay registered");
});

Deno.test("Deno Deploy: a warm-up without secrets boots, and readiness lists the missing settings", async () => {
  await using service = await deployment.start();
  assert.equal((await service.get("/health/live/")).status, 200);
  const ready = await service.get("/health/ready/");
  assert.equal(ready.status, 503);
  const { code, detail, checks } = JSON.parse(ready.text);
  assert.deepEqual([code, checks], ["unavailable", { settings: "wrong" }]);
  assert.match(detail, /DATABASE_URL is missing.*GATEWAY_SERVER_KEY is missing/);

  const charged = await charge(service.url);
  assert.equal(charged.status, 503);
  assert.match((await charged.json()).detail, /settings are missing or wrong.*\/health\/ready\//);
  for (const path of ["/", "/openapi.json", "/me/"]) {
    assert.equal((await service.get(path, STAFF_KEY)).status, 503, path);
  }
  service.signal("SIGINT");
  assert.equal((await service.ended).code, 0, service.output());
});

Deno.test("Deno Deploy: readiness lists wrong settings without their values", async () => {
  await using service = await deployment.start({
    DATABASE_URL: "mysql://secret-value/x",
    GATEWAY_SERVER_KEY: "secret value",
    QUEUE: "kv",
    DRAIN_SECONDS: "3",
  });
  const { text } = await service.get("/health/ready/");
  for (const name of ["DATABASE_URL", "GATEWAY_SERVER_KEY", "QUEUE", "DRAIN_SECONDS"]) {
    assert.ok(text.includes(`${name} must`), name);
  }
  assert.doesNotMatch(text + service.output(), /secret.value/);
});

Deno.test("Deno Deploy: main.ts serves a charge, which waited for the database, a notification and a job without files, programs and KV, on the platform's address", async () => {
  await using sandbox = await openSandbox({ serverKey: SERVER_KEY });
  const { proxy, url } = throughProxy(await createDatabase({ template: null }));
  await using _proxy = proxy;
  proxy.cut();
  // Listening on PORT would fail, because another program uses that port.
  using occupied = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await using service = await deployment.start({
    ...SECRETS,
    HOST: "127.0.0.1",
    PORT: String(occupied.addr.port),
    DATABASE_URL: url,
    GATEWAY_BASE_URL: sandbox.url,
  });
  assert.notEqual(Number(new URL(service.url).port), occupied.addr.port);
  sandbox.receiver.answer = ({ text }) =>
    callService(`${service.url}/notification/`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: text,
    });
  const read = async (path: string) => JSON.parse((await service.get(path, STAFF_KEY)).text);

  assert.equal((await service.get("/health/live/")).status, 200);
  const { status, text } = await service.get("/health/ready/");
  assert.deepEqual([status, JSON.parse(text).checks], [503, { start: "running" }]);
  const charging = charge(service.url);
  proxy.restore();
  const charged = await charging;
  assert.equal(charged.status, 201);
  await until("it is ready", async () => (await service.get("/health/ready/")).status === 200);
  const payment = PaymentSchema.parse(await charged.json());
  await sandbox.control(`transactions/${payment.transaction_id}/pay`);
  await sandbox.waitForWebhooks();
  const paid = PaymentSchema.parse(await read(`/payments/${payment.id}/`));
  assert.equal(paid.transaction_status, "settlement");

  const accepted = await charge(service.url, { Prefer: "respond-async" });
  assert.equal(accepted.status, 202);
  const { id } = JobSchema.parse(await accepted.json());
  const job = async () => JobSchema.parse(await read(`/jobs/${id}/`));
  await until("the job has succeeded", async () => (await job()).status === "succeeded");
  assert.equal((await read("/payments/")).length, 2);
  if (deployment.canImportText) assert.equal((await service.get("/guides/")).status, 200);

  service.signal("SIGINT");
  assert.equal((await service.ended).code, 0, service.output());
  assert.deepEqual(errorsIn(service.output()), []);
});

Deno.test("Deno Deploy: an instance needs no more connections than the platform's database allows", async () => {
  await using sandbox = await openSandbox({ serverKey: SERVER_KEY });
  const settings = {
    ...SECRETS,
    DATABASE_URL: await createLimitedDatabase(DIRECT_CONNECTIONS),
    GATEWAY_BASE_URL: sandbox.url,
  };
  await using service = await deployment.start(settings);
  await until("it is ready", async () => (await service.get("/health/ready/")).status === 200);
  const accepted = await charge(service.url, { Prefer: "respond-async" });
  const { id } = JobSchema.parse(await accepted.json());
  const events = async () => JSON.parse((await service.get("/events/", STAFF_KEY)).text);
  await until("the job has run", async () => {
    const { text } = await service.get(`/jobs/${id}/`, STAFF_KEY);
    return JobSchema.parse(JSON.parse(text)).status === "succeeded";
  });
  await until("its event is published", async () => (await events()).length === 1);
  assert.doesNotMatch(service.output(), /too many connections/);
});

Deno.test("Deno Deploy: an instance that is stopped does not wait for slow calls, and another one takes over its request and its job at once", async () => {
  const { graceMs, closeMs } = DEPLOY_STOP;
  assert.ok(graceMs + closeMs < PLATFORM_KILLS_MS);
  await using sandbox = await openSandbox({ serverKey: SERVER_KEY });
  await using relay = openRelay();
  relay.target = sandbox.url;
  const settings = {
    ...SECRETS,
    DATABASE_URL: await createDatabase(),
    GATEWAY_BASE_URL: relay.url,
  };
  await using stopped = await deployment.start(settings);
  const request = relay.holdAnswer("POST /v2/charge");
  const headers = { "Idempotency-Key": randomUUID() };
  const hanging = charge(stopped.url, headers).then(() => "a response", () => "no response");
  await request.arrived;
  const job = relay.holdAnswer("POST /v2/charge");
  const accepted = await charge(stopped.url, { Prefer: "respond-async" });
  const { id } = JobSchema.parse(await accepted.json());
  await job.arrived;

  stopped.signal("SIGINT");
  // The gateway's response is held until the instance has ended, so the instance cannot finish.
  const { code } = await inTime("the instance has ended", stopped.ended);
  assert.equal(code, 0, stopped.output());
  assert.equal(await hanging, "no response");
  relay.releaseAll();

  await using other = await deployment.start(settings);
  const resent = await sendUntilAnswered(() => charge(other.url, headers));
  assert.equal(resent.status, 201, await resent.clone().text());
  await until("the job has succeeded", async () => {
    const { text } = await other.get(`/jobs/${id}/`, STAFF_KEY);
    return JobSchema.parse(JSON.parse(text)).status === "succeeded";
  });
  // The second instance asked the gateway what had happened, and charged nothing again.
  assert.equal(relay.times("POST /v2/charge"), 2);
});
