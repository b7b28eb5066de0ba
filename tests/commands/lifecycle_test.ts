import assert from "node:assert/strict";
import { join } from "node:path";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { callService } from "../support/client.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { openFakeGateway } from "../support/gateway/gateway.ts";
import { assertProblem } from "../support/problem.ts";
import { copyProject, createDataFolder, PROJECT } from "../support/project.ts";
import {
  postgresRuns,
  preparedFolder,
  runTask,
  type Service,
  START_TASK,
  startError,
  startService,
} from "../support/service.ts";
import { until } from "../support/until.ts";

function untilWritten(service: Service, text: string): Promise<void> {
  return until(`${text} is written`, () => service.output().includes(text));
}

/** Runs a curl command. If that fails, for example without curl, sends the same request. */
async function runCurl(curl: string): Promise<string> {
  const { code, stdout } = await new Deno.Command("bash", { args: ["-c", curl] }).output();
  if (code === 0) return new TextDecoder().decode(stdout);
  const [, url] = curl.match(/^curl (\S+)/)!;
  const headers = [...curl.matchAll(/-H '([^:]+): ([^']+)'/g)].map((
    [, name, value],
  ) => [name!, value!]);
  const body = curl.match(/-d '([^']+)'/)?.[1];
  const init = { method: "POST", headers: Object.fromEntries(headers), body };
  return await (await callService(url!, init)).text();
}

Deno.test("start: the first start prints its steps and a curl command that works", async () => {
  await using folder = await createDataFolder();
  const lockFile = await Deno.readTextFile(join(PROJECT, "deno.lock"));
  await using service = await startService({
    settings: { DATA_DIR: folder.path },
    command: START_TASK,
  });
  assert.equal(await Deno.readTextFile(join(PROJECT, "deno.lock")), lockFile);
  const output = service.output();
  for (
    const step of ["Downloading PostgreSQL 18", "Creating the database", "Applied migration 0001"]
  ) {
    assert.match(output, new RegExp(step));
  }
  assert.match(output, new RegExp(`API +${service.url}/`));
  assert.match(output, new RegExp(`Reference +${service.url}/reference`));
  assert.match(output, new RegExp(`OpenAPI +${service.url}/openapi.json`));
  const curl = output.match(/^ +(curl [^]*?-d '[^']+')/m)![1]!;
  const payment = PaymentSchema.parse(JSON.parse(await runCurl(curl)));
  assert.equal(payment.transaction_status, "pending");
  assert.ok(payment.va_number);
  const answer = JSON.parse((await service.get("/me/", service.keys.user)).text);
  assert.equal(answer.user_id, "developer");
  assert.equal(answer.is_staff, false);
  const staff = JSON.parse((await service.get("/me/", service.keys.staff)).text);
  assert.equal(staff.is_staff, true);
  assert.equal(new URL(service.url).hostname, "127.0.0.1");
});

Deno.test("stop: SIGTERM, SIGINT and SIGHUP stop the service cleanly, and the next start keeps data and keys", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  let keys: Service["keys"] | undefined;
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    await using service = await startService({ settings, command: START_TASK });
    keys ??= service.keys;
    assert.deepEqual(service.keys, keys);
    assert.equal((await service.get("/me/", keys.user)).status, 200);
    if (signal !== "SIGTERM") assert.doesNotMatch(service.output(), /Downloading|Creating|Applied/);
    service.signal(signal);
    const { code } = await service.ended;
    assert.equal(code, 0, service.output());
    assert.equal(await postgresRuns(folder.path), false);
    assert.match(service.output(), /"event":"stopped"/);
  }
});

Deno.test("stop: two signals at the same time, as from Ctrl-C, stop the service cleanly", async () => {
  await using folder = await preparedFolder();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  const pid = await service.pid();
  Deno.kill(pid, "SIGINT");
  Deno.kill(pid, "SIGINT");
  assert.equal((await service.ended).code, 0);
  assert.equal(await postgresRuns(folder.path), false);
});

Deno.test("stop: the service answers a request in flight before it stops", async () => {
  const { proxy, url } = throughProxy(await createDatabase());
  await using _ = proxy;
  const settings = {
    DATABASE_URL: url,
    GATEWAY_SERVER_KEY: "Mid-server-x",
    BOOTSTRAP_STAFF_KEY: "gk_" + "d".repeat(43),
    HOST: "127.0.0.1",
  };
  await using service = await startService({ settings });
  const held = proxy.hold("from gateway.api_keys where hash");
  const answer = service.get("/me/", settings.BOOTSTRAP_STAFF_KEY);
  await held;
  service.signal("SIGTERM");
  await untilWritten(service, '"event":"stopping"');
  proxy.restore();
  assert.equal((await answer).status, 200);
  assert.equal((await service.ended).code, 0);
});

Deno.test("stop: if the gateway does not answer a charge, the service waits for the deadline and responds 504", async () => {
  const never = Promise.withResolvers<Response>();
  await using gateway = openFakeGateway(() => never.promise);
  using stack = new DisposableStack();
  stack.defer(() => never.resolve(new Response()));
  const settings = {
    DATABASE_URL: await createDatabase(),
    GATEWAY_SERVER_KEY: "Mid-server-x",
    GATEWAY_BASE_URL: gateway.url,
    BOOTSTRAP_STAFF_KEY: "gk_" + "d".repeat(43),
    HOST: "127.0.0.1",
  };
  await using service = await startService({ settings });
  const response = callService(`${service.url}/charge/`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${settings.BOOTSTRAP_STAFF_KEY}`,
      "Content-Type": "application/json",
    },
    body: JSON.stringify({ payment_type: "gopay", gross_amount: 10_000 }),
  });
  await until("the gateway has the charge", () => gateway.received.length === 1);
  service.signal("SIGTERM");
  const problem = await assertProblem(await response, 504, "gateway_timeout");
  assert.equal(problem.outcome, "unknown");
  assert.equal((await service.ended).code, 0);
});

Deno.test("stop: a request that does not end is cut off after the grace period", async () => {
  await using folder = await preparedFolder();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  const { hostname, port } = new URL(service.url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  // The responses are megabytes long, and the test does not read them, so they never end.
  const request = "GET /reference/scalar.js HTTP/1.1\r\nHost: x\r\n\r\n";
  await connection.write(new TextEncoder().encode(request.repeat(20)));
  await connection.read(new Uint8Array(10));
  service.signal("SIGTERM");
  assert.equal((await service.ended).code, 0);
  assert.equal(await postgresRuns(folder.path), false);
});

Deno.test("stop: while the service drains, it is not ready but still answers requests", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path, DRAIN_SECONDS: "1" };
  await using service = await startService({ settings });
  assert.equal((await service.get("/health/ready/")).status, 200);
  service.signal("SIGTERM");
  await until(
    "the service is not ready",
    async () => (await service.get("/health/ready/")).status === 503,
  );
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
  assert.equal((await service.ended).code, 0);
});

Deno.test("start: a second instance on the same folder exits with 1 and one line", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  await using service = await startService({ settings });
  const { code, stdout, stderr } = await runTask(["start"], { ...settings, PORT: "0" });
  assert.equal(code, 1);
  assert.equal(stdout, "");
  assert.match(
    startError(stderr),
    /^\S+ is in use by another instance \(process \d+\)\. Stop it, [^\n]+\n$/,
  );
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
});

Deno.test("start: of two starts at the same time on a new folder, one serves and the other exits with a reason", async () => {
  await using folder = await createDataFolder();
  const settings = { DATA_DIR: folder.path, PORT: "0" };
  const start = { settings, command: START_TASK };
  const starts = [startService(start), startService(start)];
  const outcomes = await Promise.allSettled(starts);
  const winner = outcomes.find((outcome) => outcome.status === "fulfilled");
  const loser = outcomes.find((outcome) => outcome.status === "rejected");
  assert.ok(winner && loser);
  await using service = winner.value;
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
  assert.match(loser.reason.message, /is in use by another instance/);
});

Deno.test("start: without permissions, prints how to start the service", async () => {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "main.ts"],
    cwd: PROJECT,
  }).output();
  assert.equal(code, 1);
  assert.match(
    startError(new TextDecoder().decode(stderr)),
    /^Permissions are missing\. [^\n]+\n$/,
  );
});

Deno.test("start: exits with 1 and one line if the port is in use", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  assert.equal((await runTask(["migrate"], settings)).code, 0);
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const PORT = String(listener.addr.port);
  const { code, stdout, stderr } = await runTask(["start"], { ...settings, PORT });
  assert.equal(code, 1);
  assert.equal(stdout, "");
  assert.match(startError(stderr), new RegExp(`^Port ${PORT} is already in use\\. [^\n]+\n$`));
  assert.equal(await postgresRuns(folder.path), false);
});

Deno.test("start: exits with 1 and one list without secrets if settings are invalid", async () => {
  const settings = { PORT: "x", DATABASE_URL: "mysql://u:hunter2@h/d", GATEWAY_SERVER_KEY: "" };
  const { code, stdout, stderr } = await runTask(["start"], settings);
  assert.equal(code, 1);
  assert.equal(stdout, "");
  assert.match(
    startError(stderr),
    /^3 settings are wrong:\n {2}PORT .*\n {2}DATABASE_URL .*\n {2}GATEWAY_.*\n$/,
  );
  assert.doesNotMatch(stderr, /hunter2/);
});

for (const failure of ["cut", "closeNewConnections"] as const) {
  Deno.test(`start: waits for a database that becomes available later (${failure})`, async () => {
    const { proxy, url } = throughProxy(await createDatabase());
    await using _ = proxy;
    proxy[failure]();
    await using service = await startService({
      settings: { DATABASE_URL: url, GATEWAY_SERVER_KEY: "Mid-server-x", HOST: "127.0.0.1" },
      onOutput(output) {
        if (/Waiting for the database at 127\.0\.0\.1:\d+\/\w+ \(/.test(output)) proxy.restore();
      },
    });
    assert.equal((await service.get("/health/ready/")).status, 200);
  });
}

Deno.test("start: a database role without DDL rights is enough, except if migrations are pending", async () => {
  await using folder = await createDataFolder();
  const migrated = new URL(await createDatabase());
  const empty = new URL(await createDatabase({ template: null }));
  const role = `limited_${migrated.pathname.slice(-8)}`;
  await runSql(
    migrated.href,
    `
    create role ${role} login password 'x';
    grant usage on schema gateway to ${role};
    grant select, insert, update on all tables in schema gateway to ${role}`,
  );
  const withRole = (url: URL) => Object.assign(url, { username: role, password: "x" }).href;
  const settings = {
    GATEWAY_SERVER_KEY: "Mid-server-x",
    HOST: "127.0.0.1",
    // The queue in PostgreSQL would need a role that owns the schema of the queue.
    QUEUE: "kv",
    DATA_DIR: folder.path,
  };
  {
    await using service = await startService({
      settings: { ...settings, DATABASE_URL: withRole(migrated) },
    });
    assert.equal((await service.get("/health/ready/")).status, 200);
  }
  const { code, stderr } = await runTask(["start"], { ...settings, DATABASE_URL: withRole(empty) });
  assert.equal(code, 1);
  assert.match(
    startError(stderr),
    /^Migrations are pending, and this database role is not allowed to apply them \([^\n]+\)\. Run [^\n]+\n$/,
  );
});

Deno.test("start: exits with 1 and one line without the password if the password or the database name is wrong", async () => {
  const url = new URL(await createDatabase());
  const wrongPassword = Object.assign(new URL(url), { password: "hunter2" }).href;
  const wrongDatabase = Object.assign(new URL(url), { pathname: "/nowhere" }).href;
  for (const DATABASE_URL of [wrongPassword, wrongDatabase]) {
    const settings = { DATABASE_URL, GATEWAY_SERVER_KEY: "Mid-server-x", PORT: "0" };
    const { code, stderr } = await runTask(["start"], settings);
    assert.equal(code, 1);
    assert.match(
      startError(stderr),
      /^Could not connect to the database at 127\.0\.0\.1:\d+\/\w+: [^\n]+\n$/,
    );
    assert.doesNotMatch(stderr, /hunter2/);
  }
});

Deno.test("start: with DATABASE_URL, the code of the embedded database is neither used nor needed", async () => {
  await using folder = await createDataFolder();
  const project = join(folder.path, "project");
  await copyProject(project);
  await Deno.remove(join(project, "db/embedded"), { recursive: true });
  const settings = {
    DATABASE_URL: await createDatabase({ template: null }),
    GATEWAY_SERVER_KEY: "Mid-server-x",
    BOOTSTRAP_STAFF_KEY: "gk_" + "b".repeat(43),
    HOST: "127.0.0.1",
  };
  await using service = await startService({ settings, cwd: project, command: START_TASK });
  assert.doesNotMatch(service.output(), /PostgreSQL|gk_|Development/);
  assert.deepEqual(service.keys, { user: "", staff: "" });
  const staff = JSON.parse((await service.get("/me/", settings.BOOTSTRAP_STAFF_KEY)).text);
  assert.equal(staff.is_staff, true);
  await assert.rejects(Deno.stat(join(project, ".data")), Deno.errors.NotFound);
});

Deno.test("start: a revoked BOOTSTRAP_STAFF_KEY stays revoked", async () => {
  const BOOTSTRAP_STAFF_KEY = "gk_" + "c".repeat(43);
  const settings = {
    DATABASE_URL: await createDatabase(),
    GATEWAY_SERVER_KEY: "Mid-server-x",
    BOOTSTRAP_STAFF_KEY,
    HOST: "127.0.0.1",
  };
  {
    await using service = await startService({ settings });
    assert.equal((await service.get("/me/", BOOTSTRAP_STAFF_KEY)).status, 200);
  }
  const { code } = await runTask(["keys", "revoke", "gk_cccccccc"], settings);
  assert.equal(code, 0);
  await using service = await startService({ settings });
  assert.equal((await service.get("/me/", BOOTSTRAP_STAFF_KEY)).status, 401);
  assert.match(service.output(), /bootstrap_key_ignored/);
});

Deno.test("start: development keys are rejected once GATEWAY_SERVER_KEY is set", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  let keys;
  {
    await using service = await startService({ settings });
    keys = service.keys;
  }
  const realSettings = { ...settings, GATEWAY_SERVER_KEY: "Mid-server-x", HOST: "127.0.0.1" };
  const changed = await runTask(["account", "change"], realSettings);
  assert.equal(changed.code, 0, changed.stderr);
  await using service = await startService({ settings: realSettings });
  assert.deepEqual(service.keys, { user: "", staff: "" });
  for (const key of Object.values(keys)) assert.equal((await service.get("/me/", key)).status, 401);
});
