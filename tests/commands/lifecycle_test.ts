import assert from "node:assert/strict";
import { join } from "node:path";
import { reachDatabase } from "../../commands/database_access.ts";
import { METHOD_IDS } from "../../core/checkouts/methods.ts";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { callService, sendUntilAnswered } from "../support/client.ts";
import { startUntilUp } from "../support/crash/start_until_up.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { openFakeGateway } from "../support/gateway/gateway.ts";
import { errorsIn } from "../support/logged_errors.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { assertProblem } from "../support/problem.ts";
import { copyProject, createDataFolder, PROJECT } from "../support/project.ts";
import {
  postgresRuns,
  preparedFolder,
  runCommand,
  runTask,
  type ServiceProcess,
  START_TASK,
  startError,
  startService,
  untilReady,
} from "../support/service.ts";
import { isPartial } from "../support/share.ts";
import { until } from "../support/until.ts";

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

/** The link in the start message. Null: the database was slow, and the service runs without it. */
async function demoLink(service: ServiceProcess): Promise<string | null> {
  await until(
    "the demo is shown or has failed",
    () => /Demo +http:|"demo_checkout_failed".*\n/.test(service.output()),
  );
  assert.deepEqual(errorsIn(service.output()), []);
  return service.output().match(/Demo +(http:\S+)/)?.[1] ?? null;
}

/** Tasks start the service with its own deadline, so requests are sent until they are answered. */
async function whoAmI({ url }: ServiceProcess, key: string): Promise<Json> {
  const headers = { Authorization: `Bearer ${key}` };
  return await (await sendUntilAnswered(() => callService(`${url}/me/`, { headers }))).json();
}

/** The service waits a few seconds for PostgreSQL, which can end later on a slow machine. */
async function untilPostgresEnds(dataDir: string): Promise<void> {
  await until("PostgreSQL has ended", async () => !await postgresRuns(dataDir));
}

Deno.test("start: the first start prints its steps, a curl command and a demo checkout that work; every signal stops it cleanly, and the next start keeps data and keys", async (t) => {
  await using folder = await createDataFolder();
  const settings = { DATA_DIR: folder.path };
  const lockFile = await Deno.readTextFile(join(PROJECT, "deno.lock"));
  let keys: ServiceProcess["keys"];
  let demo: string | null;
  async function assertStops(service: ServiceProcess, signal: Deno.Signal) {
    service.signal(signal);
    const { code } = await service.ended;
    assert.equal(code, 0, service.output());
    await untilPostgresEnds(folder.path);
    assert.match(service.output(), /"event":"stopped"/);
  }

  await t.step("the first start prints its steps, and SIGTERM stops it", async () => {
    await using service = await startService({ settings, command: START_TASK });
    assert.equal(await Deno.readTextFile(join(PROJECT, "deno.lock")), lockFile);
    keys = service.keys;
    const output = service.output();
    const steps = ["Installing PostgreSQL 18", "Creating the database", "Applied migration 0001"];
    for (const step of steps) assert.match(output, new RegExp(step));
    assert.match(output, new RegExp(`API +${service.url}/`));
    assert.match(output, new RegExp(`Reference +${service.url}/reference`));
    const curl = output.match(/^ +(curl [^]*?-d '[^']+')/m)![1]!;
    let charged: Json;
    await until("the charge is answered", async () => {
      charged = JSON.parse(await runCurl(curl));
      return charged.code !== "unavailable";
    });
    const payment = PaymentSchema.parse(charged);
    assert.equal(payment.transaction_status, "pending");
    assert.ok(payment.va_number);
    const link = demo = await demoLink(service);
    if (link !== null) {
      const page = await (await sendUntilAnswered(() => callService(link))).text();
      for (const method of METHOD_IDS) assert.match(page, new RegExp(`value="${method}"`));
    }
    const user = await whoAmI(service, keys.user);
    assert.deepEqual([user.user_id, user.is_staff], ["developer", false]);
    const staff = await whoAmI(service, keys.staff);
    assert.equal(staff.is_staff, true);
    assert.equal(new URL(service.url).hostname, "127.0.0.1");
    await assertStops(service, "SIGTERM");
  });

  await t.step(
    "a second instance exits with 1 and one line, and SIGINT stops the first",
    async () => {
      await using service = await startUntilUp(settings, { command: START_TASK });
      assert.deepEqual(service.keys, keys);
      const link = await demoLink(service);
      if (link !== null && demo !== null) {
        assert.equal(new URL(link).pathname, new URL(demo).pathname, "the same checkout");
      }
      assert.doesNotMatch(service.output(), /Installing|Creating|Applied/);
      const { code, stdout, stderr } = await runTask(["start"], { ...settings, PORT: "0" });
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(
        startError(stderr),
        /^\S+ is in use by another instance \(process \d+\)\. Stop it, [^\n]+\n$/,
      );
      assert.equal((await whoAmI(service, keys.user)).user_id, "developer");
      await assertStops(service, "SIGINT");
    },
  );

  await t.step({
    name: "SIGHUP stops it",
    ignore: isPartial,
    async fn() {
      await using service = await startUntilUp(settings, { command: START_TASK });
      await assertStops(service, "SIGHUP");
    },
  });
});

/** Enough for a few requests on a busy machine, and less than the deadline of a charge. */
const DRAIN_SECONDS = 10;

Deno.test("stop: the service drains, answers a request in flight at its deadline, and cuts off others after the grace period", async () => {
  const never = Promise.withResolvers<Response>();
  await using gateway = openFakeGateway(() => never.promise);
  using stack = new DisposableStack();
  stack.defer(() => never.resolve(new Response()));
  await using folder = await preparedFolder();
  const key = "gk_" + "d".repeat(43);
  await using service = await startService({
    settings: {
      DATA_DIR: folder.path,
      GATEWAY_SERVER_KEY: "Mid-server-x",
      GATEWAY_BASE_URL: gateway.url,
      BOOTSTRAP_STAFF_KEY: key,
      HOST: "127.0.0.1",
      DRAIN_SECONDS: String(DRAIN_SECONDS),
    },
  });
  assert.deepEqual(service.keys, { user: "", staff: "" }, "a real gateway: no development keys");
  await untilReady(service);
  const { hostname, port } = new URL(service.url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  // The responses are megabytes long, and the test does not read them, so they never end.
  const request = "GET /reference/scalar.js HTTP/1.1\r\nHost: x\r\n\r\n";
  await connection.write(new TextEncoder().encode(request.repeat(20)));
  await connection.read(new Uint8Array(10));

  service.signal("SIGTERM");
  await until(
    "the service is not ready",
    async () => (await service.get("/health/ready/")).status === 503,
  );
  // The gateway does not answer, and the deadline of the charge passes after the service has
  // drained.
  const response = await callService(`${service.url}/charge/`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ payment_type: "gopay", gross_amount: 10_000 }),
  });
  const problem = await assertProblem(response, 504, "gateway_timeout");
  assert.equal(problem.outcome, "unknown");
  assert.equal(gateway.received.length, 1);
  assert.equal((await service.ended).code, 0, service.output());
  await untilPostgresEnds(folder.path);
});

Deno.test("start: of two starts at the same time one serves, and the other exits with a reason; two signals at the same time stop it cleanly", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  const outcomes = await Promise.allSettled([1, 2].map(() => startService({ settings })));
  const winner = outcomes.find((outcome) => outcome.status === "fulfilled");
  const loser = outcomes.find((outcome) => outcome.status === "rejected");
  assert.ok(winner && loser);
  await using service = winner.value;
  assert.equal((await service.get("/me/", service.keys.user)).status, 200);
  assert.match(loser.reason.message, /is in use by another instance/);
  // As from Ctrl-C, which both the task and the service receive.
  const pid = await service.pid();
  Deno.kill(pid, "SIGINT");
  Deno.kill(pid, "SIGINT");
  assert.equal((await service.ended).code, 0);
  await untilPostgresEnds(folder.path);
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
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const PORT = String(listener.addr.port);
  const { code, stdout, stderr } = await runCommand([], { ...settings, PORT });
  assert.equal(code, 1);
  assert.equal(stdout, "");
  assert.match(startError(stderr), new RegExp(`^Port ${PORT} is already in use\\. [^\n]+\n$`));
  await untilPostgresEnds(folder.path);
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

Deno.test("start: waits for a database that becomes available later, and prints each new cause", async () => {
  const { proxy, url } = throughProxy(await createDatabase());
  await using _ = proxy;
  proxy.cut();
  await using service = await startService({
    settings: { DATABASE_URL: url, GATEWAY_SERVER_KEY: "Mid-server-x", HOST: "127.0.0.1" },
    hasOwnDeadline: true,
    onOutput(output) {
      const causes = output.match(/Waiting for the database at 127\.0\.0\.1:\d+\/\w+ \([^)]*\)/g);
      if (causes === null) return;
      // First nothing listens; then something accepts connections and closes them.
      proxy.restore();
      if (causes.length === 1) proxy.closeNewConnections();
    },
  });
  await untilReady(service);
  assert.match(service.output(), /ECONNREFUSED/);
});

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
    await untilReady(service);
  }
  const { code, stderr } = await runCommand([], { ...settings, DATABASE_URL: withRole(empty) });
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
  const message = /^Could not connect to the database at 127\.0\.0\.1:\d+\/\w+: (?!.*hunter2)/;
  await assert.rejects(reachDatabase(wrongDatabase, null), { name: "Failure", message });
  const settings = { DATABASE_URL: wrongPassword, GATEWAY_SERVER_KEY: "Mid-server-x", PORT: "0" };
  const { code, stderr } = await runCommand([], settings);
  assert.equal(code, 1);
  assert.match(startError(stderr), message);
  assert.doesNotMatch(stderr, /hunter2/);
});

Deno.test("start: with DATABASE_URL, the code of the embedded database is neither used nor needed", async () => {
  await using folder = await createDataFolder();
  const project = join(folder.path, "project");
  await copyProject(project);
  await Deno.remove(join(project, "db/embedded"), { recursive: true });
  const settings = {
    DATABASE_URL: await createDatabase(),
    GATEWAY_SERVER_KEY: "Mid-server-x",
    BOOTSTRAP_STAFF_KEY: "gk_" + "b".repeat(43),
    HOST: "127.0.0.1",
  };
  await using service = await startUntilUp(settings, { cwd: project, command: START_TASK });
  assert.doesNotMatch(service.output(), /PostgreSQL|gk_|Development/);
  assert.deepEqual(service.keys, { user: "", staff: "" });
  const staff = await whoAmI(service, settings.BOOTSTRAP_STAFF_KEY);
  assert.equal(staff.is_staff, true);
  await assert.rejects(Deno.stat(join(project, ".data")), Deno.errors.NotFound);
});
