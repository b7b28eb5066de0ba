import assert from "node:assert/strict";
import { createProgress } from "../commands/progress.ts";
import { run as runHere } from "../commands/run_task.ts";
import { parseConfig } from "../core/config.ts";
import { openApp, REAL_INSTALLATION, type TestApp } from "./support/app.ts";
import { ask, createDatabase } from "./support/database.ts";
import { jobsOf } from "./support/due_jobs.ts";
import { parsePayment, type Payment } from "./support/payments.ts";
import { openSandbox, type TestSandbox } from "./support/sandbox.ts";
import { dataFolder, runTask, startService } from "./support/service.ts";

const TASKS = [
  "check_payment_status",
  "check_pending_payments",
  "expire_stale_payments",
  "check_overdue_invoices",
  "sync_subscription_status",
  "process_charge_async",
  "process_refund_async",
];

async function run(settings: Record<string, string>, ...args: string[]) {
  return await runTask(["run", ...args], settings);
}

/** That it is refused in these words; without a process of its own, which takes longer. */
async function assertRefused(settings: Record<string, string>, args: string[], message: RegExp) {
  await assert.rejects(runHere(() => parseConfig(settings, "/nowhere"), args), {
    name: "Failure",
    message,
  });
}

interface Own extends AsyncDisposable {
  app: TestApp;
  sandbox: TestSandbox;
  settings: Record<string, string>;
  charge(more?: object, headers?: HeadersInit): Promise<Response>;
  charged(): Promise<Payment>;
  read(id: string): Promise<Payment>;
  /** All payments are due for a look. */
  makeDue(more?: string): Promise<void>;
}

/** A database and a gateway of one's own. */
async function openOwn(): Promise<Own> {
  await using resources = new AsyncDisposableStack();
  const { GATEWAY_SERVER_KEY: serverKey } = REAL_INSTALLATION;
  const sandbox = resources.use(
    await openSandbox({ serverKey, settings: { notification_url: null } }),
  );
  const databaseUrl = await createDatabase();
  const app = resources.use(await openApp({ databaseUrl, gatewayUrl: sandbox.url, serverKey }));
  const key = await app.createKey();
  const charge: Own["charge"] = (more, headers = {}) =>
    app.as(key, "/charge/", {
      method: "POST",
      headers: { "Content-Type": "application/json", ...Object.fromEntries(new Headers(headers)) },
      body: JSON.stringify({ payment_type: "gopay", gross_amount: 44_000, ...more }),
    });
  const kept = resources.move();
  return {
    app,
    sandbox,
    settings: {
      DATABASE_URL: databaseUrl,
      GATEWAY_BASE_URL: sandbox.url,
      GATEWAY_SERVER_KEY: serverKey,
    },
    charge,
    charged: async () => await parsePayment(await charge(), 201),
    read: async (id) => await parsePayment(await app.as(key, `/payments/${id}/`), 200),
    makeDue: async (more = "") =>
      void await ask(databaseUrl, `update gateway.payments set check_at = now() ${more}`),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

Deno.test("a sweep by hand works off what it queues, and tells what came of it", async () => {
  await using own = await openOwn();
  const [paid, waiting, denied] = await Promise.all([own.charged(), own.charged(), own.charged()]);
  await own.sandbox.control(`transactions/${paid.transaction_id}/pay`);
  await own.sandbox.control(`transactions/${denied.transaction_id}/deny`);
  await own.makeDue();
  const first = await run(own.settings, "check_pending_payments");
  assert.deepEqual(first, { code: 0, stdout: "3 looked at, 2 changed, 0 failed\n", stderr: "" });
  const payments = await Promise.all([paid, waiting, denied].map(({ id }) => own.read(id)));
  assert.deepEqual(payments.map(({ transaction_status }) => transaction_status), [
    "settlement",
    "pending",
    "deny",
  ]);
  const again = await run(own.settings, "check_pending_payments");
  assert.deepEqual([again.code, again.stdout], [0, "0 looked at, 0 changed, 0 failed\n"]);

  await own.makeDue(
    ", expiry_time = now() - interval '1 hour' where transaction_status = 'pending'",
  );
  const stale = await run(own.settings, "expire_stale_payments");
  assert.deepEqual([stale.code, stale.stdout], [0, "1 looked at, 1 changed, 0 failed\n"]);
  assert.equal((await own.read(waiting.id)).transaction_status, "expire");
});

Deno.test("the other sweeps run by hand, too, and find nothing where there is nothing", async () => {
  await using own = await openOwn();
  const tasks = ["check_overdue_invoices", "sync_subscription_status"];
  for (const outcome of await Promise.all(tasks.map((task) => run(own.settings, task)))) {
    assert.deepEqual(outcome, {
      code: 0,
      stdout: "0 looked at, 0 changed, 0 failed\n",
      stderr: "",
    });
  }
});

Deno.test("what fails is counted and told by its reason, exit code 1", async () => {
  await using own = await openOwn();
  const { id, transaction_id } = await own.charged();
  // The sandbox begins anew, in a way.
  await ask(own.settings.DATABASE_URL!, "update gateway.payments set transaction_id = 'unknown'");
  const { code, stdout, stderr } = await run(own.settings, "check_payment_status", id);
  assert.equal(code, 1);
  assert.equal(stdout, "1 looked at, 0 changed, 1 failed\nThe payment's status is pending.\n");
  assert.match(stderr, /^1 × GatewayAPIError: .*doesn't exist.*\n$/);

  await ask(
    own.settings.DATABASE_URL!,
    `update gateway.payments set transaction_id = '${transaction_id}'`,
  );
  const nowhere = { ...own.settings, GATEWAY_BASE_URL: "http://127.0.0.1:2" };
  await Promise.all([own.charged(), own.charged(), own.charged()]);
  await own.makeDue();
  const down = await run(nowhere, "check_pending_payments");
  assert.equal(down.code, 1);
  assert.match(down.stderr, /The gateway is down, or asked to be left alone; the rest waits\.\n$/);
  const [job] = await jobsOf(own.app, id);
  assert.equal(job!.status, "queued", "the service goes on with it");
});

Deno.test("a charge that waits as a job is made by hand, once", async () => {
  await using own = await openOwn();
  const asked = await own.charge({ order_id: "by-hand" }, { Prefer: "respond-async" });
  assert.equal(asked.status, 202);
  const { id } = await asked.json();
  // Even if it was to be tried again later.
  await ask(
    own.settings.DATABASE_URL!,
    "update gateway.jobs set run_at = now() + interval '1 hour'",
  );
  for (let times = 0; times < 2; times++) {
    const { code, stdout, stderr } = await run(own.settings, "process_charge_async", id);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^1 looked at, /);
  }
  const made = await own.sandbox.control("transactions?order_id=by-hand", undefined, "GET");
  assert.equal(made.length, 1);

  const refusal = new RegExp(`^There is no job ${id} of process_refund_async\\.$`);
  await assertRefused(own.settings, ["process_refund_async", id], refusal);
  await ask(own.settings.DATABASE_URL!, "update gateway.jobs set status = 'failed', error = 'No.'");
  const failed = new RegExp(
    `^The job failed: No\\.\nPOST /jobs/${id}/retry/ lets it begin anew\\.$`,
  );
  await assertRefused(own.settings, ["process_charge_async", id], failed);
});

Deno.test("in the embedded default it works beside the service, and without one", async () => {
  await using folder = await dataFolder();
  const port = freePort();
  const settings = { DATA_DIR: folder.path, SANDBOX_PORT: String(port) };
  let id: string;
  {
    await using service = await startService({ settings });
    const sandbox = `${service.sandbox}/_sandbox`;
    const post = (url: string, body: object, key?: string) =>
      fetch(url, {
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          ...key && { Authorization: `Bearer ${key}` },
        },
        body: JSON.stringify(body),
      });
    const charged = await post(
      `${service.url}/charge/`,
      { payment_type: "gopay", gross_amount: 44_000 },
      service.keys.user,
    );
    const payment = await parsePayment(charged, 201);
    id = payment.id;
    // What the gateway tells of the charge is heard, but not that it was paid.
    const lost = { operation: "pay", fault: "webhook_lost" };
    const calls: [string, object][] = [
      ["webhooks/settle", {}],
      ["faults", lost],
      [`transactions/${payment.transaction_id}/pay`, {}],
    ];
    for (const [path, body] of calls) {
      const response = await post(`${sandbox}/${path}`, body);
      assert.ok(response.ok, await response.text());
    }
    const beside = await run(settings, "check_payment_status", id);
    assert.equal(beside.code, 0, beside.stderr);
    assert.equal(
      beside.stdout,
      "1 looked at, 1 changed, 0 failed\nThe payment's status is settlement.\n",
    );
  }
  const alone = await run(settings, "check_payment_status", id);
  assert.equal(alone.code, 0, alone.stderr);
  assert.match(alone.stdout, /^1 looked at, 0 changed, 0 failed\n.*settlement\.\n$/);
});

Deno.test("what cannot be run is said in a line or shown in the usage", async () => {
  const settings = { DATABASE_URL: await createDatabase(), GATEWAY_SERVER_KEY: "Mid-server-x" };
  const help = await run(settings, "--help");
  assert.equal(help.code, 0);
  for (const task of TASKS) assert.ok(help.stdout.includes(task), task);
  const unknown = await run(settings, "check_everything");
  assert.deepEqual([unknown.code, unknown.stdout], [1, ""]);
  assert.match(unknown.stderr, /^There is no task "check_everything"\.\n/);
  for (const task of TASKS) assert.ok(unknown.stderr.includes(task), task);
  const wrong = [
    ...[[], ["check_payment_status"], ["process_charge_async"], ["check_pending_payments", "x"]],
    ["check_payment_status", "x", "y"],
  ];
  for (const args of wrong) await assertRefused(settings, args, /^Usage: run TASK/);
  for (const id of ["00000000-0000-7000-8000-000000000000", "order-1"]) {
    const message = new RegExp(`^There is no payment ${id}\\.$`);
    await assertRefused(settings, ["check_payment_status", id], message);
  }
});

Deno.test("progress is told in place on a terminal, and in a log now and then", () => {
  let now = 0;
  const shown = (isTerminal: boolean) => {
    let text = "";
    const screen = {
      isTerminal: () => isTerminal,
      writeSync: (bytes: Uint8Array) => (text += new TextDecoder().decode(bytes), bytes.length),
    };
    const progress = createProgress("sweep", screen, () => now);
    for (let done = 1; done <= 300; done++) {
      now += 50;
      progress.tell(done, 300);
    }
    progress.end();
    return text;
  };
  const terminal = shown(true);
  assert.ok(terminal.startsWith("\rsweep: 1 of 300\rsweep: 3 of 300"));
  assert.ok(!terminal.includes("\n"));
  assert.match(terminal, /\r +\r$/, "the line is gone before the summary");
  assert.equal(shown(false), "sweep: 200 of 300\n");
});

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
