import assert from "node:assert/strict";
import { createProgress } from "../../commands/terminal.ts";
import { createEvents } from "../../core/handlers/events.ts";
import { openApp, REAL_INSTALLATION, type TestApp, type TestAppOptions } from "../support/app.ts";
import { callService } from "../support/client.ts";
import { runInProcess } from "../support/commands.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { freePort } from "../support/free_port.ts";
import { openSandbox, savedCard, type TestSandbox } from "../support/gateway/sandbox.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import { parsePayment, type Payment } from "../support/payments/payments.ts";
import { invoiceDue, parseInvoice } from "../support/records/invoices.ts";
import { parseSubscription } from "../support/records/subscriptions.ts";
import { preparedFolder, runCommand, runTask, startService } from "../support/service.ts";

const TASKS = [
  "check_payment_status",
  "check_pending_payments",
  "expire_stale_payments",
  "check_checkouts",
  "check_overdue_invoices",
  "sync_subscription_status",
  "process_charge_async",
  "process_refund_async",
  "rebuild_stats",
];

async function run(settings: Record<string, string>, ...args: string[]) {
  return await runInProcess(["run", ...args], settings);
}

async function assertRefused(settings: Record<string, string>, args: string[], message: RegExp) {
  const { code, stdout, stderr } = await run(settings, ...args);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr.trimEnd(), message);
}

/** Runs the command in this process; returns the text on the terminal, and the summary. */
async function runInTerminal(settings: Record<string, string>, ...args: string[]) {
  const { stderr } = Deno;
  const seen = { screen: "", summary: "" };
  Object.assign(stderr, {
    isTerminal: () => true,
    writeSync(bytes: Uint8Array) {
      seen.screen += new TextDecoder().decode(bytes);
      return bytes.length;
    },
  });
  try {
    seen.summary = (await run(settings, ...args)).stdout;
  } finally {
    // Restores the methods of the prototype.
    for (const name of ["isTerminal", "writeSync"]) Reflect.deleteProperty(stderr, name);
  }
  return seen;
}

interface Installation extends AsyncDisposable {
  app: TestApp;
  /** The API key of the user who charges. */
  key: string;
  sandbox: TestSandbox;
  settings: Record<string, string>;
  charge(more?: object, headers?: HeadersInit): Promise<Response>;
  createPayment(): Promise<Payment>;
  read(id: string): Promise<Payment>;
  /** Makes payments due for a check: all of them, unless the SQL in `more` has a condition. */
  makeDue(more?: string): Promise<void>;
}

/** An app with its own database and gateway. */
async function openInstallation(options: Partial<TestAppOptions> = {}): Promise<Installation> {
  await using resources = new AsyncDisposableStack();
  const { GATEWAY_SERVER_KEY: serverKey } = REAL_INSTALLATION;
  const sandbox = resources.use(
    await openSandbox({ serverKey, settings: { notification_url: null } }),
  );
  const databaseUrl = await createDatabase();
  const app = resources.use(
    await openApp({ databaseUrl, gatewayUrl: sandbox.url, serverKey, ...options }),
  );
  const key = await app.createKey();
  const charge: Installation["charge"] = (more, headers = {}) =>
    app.as(key, "/charge/", {
      method: "POST",
      headers: { "Content-Type": "application/json", ...Object.fromEntries(new Headers(headers)) },
      body: JSON.stringify({ payment_type: "gopay", gross_amount: 44_000, ...more }),
    });
  const openResources = resources.move();
  return {
    app,
    key,
    sandbox,
    settings: {
      DATABASE_URL: databaseUrl,
      GATEWAY_BASE_URL: sandbox.url,
      GATEWAY_SERVER_KEY: serverKey,
    },
    charge,
    createPayment: async () => await parsePayment(await charge(), 201),
    read: async (id) => await parsePayment(await app.as(key, `/payments/${id}/`), 200),
    makeDue: async (more = "") =>
      void await runSql(databaseUrl, `update gateway.payments set check_at = now() ${more}`),
    [Symbol.asyncDispose]: () => openResources.disposeAsync(),
  };
}

Deno.test("run: a sweep runs the jobs that it enqueues and prints a summary", async () => {
  await using installation = await openInstallation();
  const [paid, waiting, denied] = await Promise.all([
    installation.createPayment(),
    installation.createPayment(),
    installation.createPayment(),
  ]);
  await installation.sandbox.control(`transactions/${paid.transaction_id}/pay`);
  await installation.sandbox.control(`transactions/${denied.transaction_id}/deny`);
  await installation.makeDue();
  const firstRun = await runTask(["run", "check_pending_payments"], installation.settings);
  assert.deepEqual(firstRun, { code: 0, stdout: "3 processed, 2 changed, 0 failed\n", stderr: "" });
  const payments = await Promise.all(
    [paid, waiting, denied].map(({ id }) => installation.read(id)),
  );
  assert.deepEqual(payments.map(({ transaction_status }) => transaction_status), [
    "settlement",
    "pending",
    "deny",
  ]);
  const secondRun = await runInTerminal(installation.settings, "check_pending_payments");
  assert.deepEqual(secondRun, { screen: "", summary: "0 processed, 0 changed, 0 failed\n" });

  await installation.makeDue(
    ", expiry_time = now() - interval '1 hour' where transaction_status = 'pending'",
  );
  const expireRun = await runInTerminal(installation.settings, "expire_stale_payments");
  assert.equal(expireRun.summary, "1 processed, 1 changed, 0 failed\n");
  assert.equal((await installation.read(waiting.id)).transaction_status, "expire");
});

Deno.test("run: an event that the command writes reaches the handlers of the service", async () => {
  const events = createEvents();
  const handled: string[] = [];
  events.on("payment_settled", ({ data }) => void handled.push(data.id), { as: "shipping" });
  await using installation = await openInstallation({ events });
  const { id, transaction_id } = await installation.createPayment();
  await installation.sandbox.control(`transactions/${transaction_id}/pay`);
  const { summary } = await runInTerminal(installation.settings, "check_payment_status", id);
  assert.match(summary, /Payment status: settlement/);
  assert.deepEqual(handled, []);
  await runDueJobs(installation.app);
  assert.deepEqual(handled, [id]);
});

Deno.test("run: the sweep of subscriptions checks only subscriptions, the sweep of invoices only invoices", async () => {
  await using installation = await openInstallation();
  const { app, sandbox, key } = installation;
  const post = (path: string, body: object) =>
    app.as(key, path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  const invoice = await parseInvoice(await post("/invoices/", invoiceDue(Date.now())));
  await sandbox.control(`invoices/${invoice.gateway_invoice_id}/pay`);
  await runSql(installation.settings.DATABASE_URL!, "update gateway.invoices set check_at = now()");
  const subscription = await parseSubscription(
    await post("/subscriptions/", {
      name: "coffee-club",
      amount: 150_000,
      payment_type: "credit_card",
      token: await savedCard(sandbox),
      interval: 1,
      interval_unit: "month",
    }),
    201,
  );
  const disabled = await sandbox.call(
    "POST",
    `/v1/subscriptions/${subscription.gateway_subscription_id}/disable`,
    undefined,
    { Authorization: `Basic ${btoa(`${installation.settings.GATEWAY_SERVER_KEY}:`)}` },
  );
  assert.equal(disabled.http, 200);

  const statuses = async () => {
    const read = async (path: string) => (await (await app.as(key, path)).json()).status;
    return [
      await read(`/invoices/${invoice.id}/`),
      await read(`/subscriptions/${subscription.id}/`),
    ];
  };
  const { summary } = await runInTerminal(installation.settings, "sync_subscription_status");
  assert.equal(summary, "1 processed, 1 changed, 0 failed\n");
  assert.deepEqual(await statuses(), [invoice.status, "inactive"]);
  // The check of an invoice can enqueue more jobs, which the command also runs.
  const invoiceRun = await runInTerminal(installation.settings, "check_overdue_invoices");
  assert.match(invoiceRun.summary, /^\d processed, 1 changed, 0 failed\n$/);
  assert.deepEqual(await statuses(), ["paid", "inactive"]);
});

Deno.test("run: check_checkouts expires checkouts whose time is over, and closes their payments", async () => {
  const PUBLIC_URL = "https://pay.shop.example";
  await using installation = await openInstallation({ env: { ...REAL_INSTALLATION, PUBLIC_URL } });
  const { app, key, settings } = installation;
  const created = await app.as(key, "/checkouts/", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ gross_amount: 44_000 }),
  });
  const { id, checkout_url } = await created.json();
  const body = new URLSearchParams({ method: "bca_va" });
  const chosen = await app.fetchUnchecked(new Request(checkout_url, { method: "POST", body }));
  assert.equal(chosen.status, 303);
  await runSql(
    settings.DATABASE_URL!,
    "update gateway.checkouts set expires_at = now(), check_at = now()",
  );
  const { summary } = await runInTerminal(settings, "check_checkouts");
  // Closing the payment enqueues a further look at the checkout, which the command also runs.
  assert.match(summary, /^\d processed, 1 changed, 0 failed\n$/);
  const { status, attempts } = await (await app.as(key, `/checkouts/${id}/`)).json();
  assert.equal(status, "expired");
  assert.deepEqual(attempts.map(({ status }: { status: string }) => status), ["closed"]);
});

Deno.test("run: counts failures, prints them with their reason and exits with code 1", async () => {
  await using installation = await openInstallation();
  const { id, transaction_id } = await installation.createPayment();
  // If the gateway knew no transaction, the service would suspect a wrong server key and stop.
  await installation.createPayment();
  // As if the gateway had lost the transaction.
  await runSql(
    installation.settings.DATABASE_URL!,
    `update gateway.payments set transaction_id = 'unknown' where id = '${id}'`,
  );
  const { code, stdout, stderr } = await run(installation.settings, "check_payment_status", id);
  assert.equal(code, 1);
  assert.equal(stdout, "1 processed, 0 changed, 1 failed\nPayment status: pending\n");
  assert.match(stderr, /^1 × GatewayAPIError: .*doesn't exist.*\n$/);

  await runSql(
    installation.settings.DATABASE_URL!,
    `update gateway.payments set transaction_id = '${transaction_id}' where id = '${id}'`,
  );
  const unreachable = { ...installation.settings, GATEWAY_BASE_URL: "http://127.0.0.1:2" };
  await Promise.all([
    installation.createPayment(),
    installation.createPayment(),
    installation.createPayment(),
  ]);
  await installation.makeDue();
  const failedRun = await run(unreachable, "check_pending_payments");
  assert.equal(failedRun.code, 1);
  assert.match(
    failedRun.stderr,
    /The gateway is down or rate limiting; remaining work was deferred\.\n$/,
  );
  const [job] = await jobsOf(installation.app, id);
  assert.equal(job!.status, "queued", "the service will continue with the job");
});

Deno.test("run: process_charge_async executes a queued charge once", async () => {
  await using installation = await openInstallation();
  const accepted = await installation.charge({ order_id: "by-hand" }, { Prefer: "respond-async" });
  assert.equal(accepted.status, 202);
  const { id } = await accepted.json();
  // The command runs the job even if its next attempt is due later.
  await runSql(
    installation.settings.DATABASE_URL!,
    "update gateway.jobs set run_at = now() + interval '1 hour'",
  );
  for (let times = 0; times < 2; times++) {
    const { summary } = await runInTerminal(installation.settings, "process_charge_async", id);
    assert.match(summary, /^1 processed, \d changed, 0 failed\n$/);
  }
  const executed = await installation.sandbox.control(
    "transactions?order_id=by-hand",
    undefined,
    "GET",
  );
  assert.equal(executed.length, 1);

  const refusal = new RegExp(`^Job ${id} of task process_refund_async not found\\.$`);
  await assertRefused(installation.settings, ["process_refund_async", id], refusal);
  await runSql(
    installation.settings.DATABASE_URL!,
    "update gateway.jobs set status = 'failed', error = 'No.'",
  );
  const failed = new RegExp(
    `^The job has already failed: No\\.\nTo retry it, send POST /jobs/${id}/retry/\\.$`,
  );
  await assertRefused(installation.settings, ["process_charge_async", id], failed);
});

Deno.test("run: rebuild_stats counts all payments again", async () => {
  await using installation = await openInstallation();
  await installation.createPayment();
  const { summary } = await runInTerminal(installation.settings, "rebuild_stats");
  assert.match(summary, /Payments counted: [1-9]\d*\n$/);
  const staff = await installation.app.createKey({ isStaff: true });
  const response = await installation.app.as(staff, "/stats/payments/");
  assert.deepEqual((await response.json()).rows.map(({ count }: { count: number }) => count), [1]);
});

Deno.test("run: rebuild_stats says which role can run it if this one does not own the schema", async () => {
  await using installation = await openInstallation();
  await installation.createPayment();
  const { settings } = installation;
  const url = new URL(settings.DATABASE_URL!);
  const role = `restricted_${url.pathname.slice(-8)}`;
  await runSql(
    url.href,
    `create role ${role} login password 'x';
     grant usage on schema gateway to ${role};
     grant select, insert, update, delete on all tables in schema gateway to ${role}`,
  );
  try {
    const DATABASE_URL = Object.assign(new URL(url), { username: role, password: "x" }).href;
    const denied =
      /^This database role is not allowed to delete the statistics \([^\n]+\)\. Run `deno task run rebuild_stats` as the role that owns the schema\.$/;
    await assertRefused({ ...settings, DATABASE_URL }, ["rebuild_stats"], denied);
  } finally {
    await runSql(url.href, `drop owned by ${role}; drop role ${role}`);
  }
});

Deno.test("run: process_refund_async executes a queued refund once", async () => {
  await using installation = await openInstallation();
  const { id, transaction_id } = await installation.createPayment();
  await installation.sandbox.control(`transactions/${transaction_id}/pay`);
  await installation.makeDue();
  const paid = await runInTerminal(installation.settings, "check_payment_status", id);
  assert.match(paid.summary, /^1 processed, 1 changed, 0 failed\n.*settlement\n$/);
  const accepted = await installation.app.as(installation.key, `/payments/${id}/refund/`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Prefer: "respond-async" },
    body: JSON.stringify({ amount: 1_000 }),
  });
  assert.equal(accepted.status, 202);
  const { id: job } = await accepted.json();
  for (let times = 0; times < 2; times++) {
    const { summary } = await runInTerminal(installation.settings, "process_refund_async", job);
    assert.match(summary, /^1 processed, \d changed, 0 failed\n$/);
  }
  const executed = await installation.sandbox.control(
    `transactions/${transaction_id}`,
    undefined,
    "GET",
  );
  assert.equal(executed.refunds.length, 1);
  const { refunds, refund_amount } = await installation.read(id);
  assert.deepEqual([refunds.length, refund_amount], [1, "1000.00"]);
});

Deno.test("run: shows the progress of a sweep while it runs, and clears it before the summary", async () => {
  await using installation = await openInstallation();
  await Promise.all([
    installation.createPayment(),
    installation.createPayment(),
    installation.createPayment(),
  ]);
  await installation.makeDue();
  const { screen, summary } = await runInTerminal(installation.settings, "check_pending_payments");
  assert.ok(screen.startsWith("\rcheck_pending_payments: 1 of 3"), screen);
  assert.match(screen, /\r +\r$/);
  assert.equal(summary, "3 processed, 0 changed, 0 failed\n");
});

Deno.test("run: works with the embedded database, with and without a running service", async () => {
  await using folder = await preparedFolder();
  const port = freePort();
  const settings = { DATA_DIR: folder.path, SANDBOX_PORT: String(port) };
  let id: string;
  {
    await using service = await startService({ settings });
    const sandbox = `${service.sandbox}/_sandbox`;
    const post = (url: string, body: object, key?: string) =>
      (url.startsWith(service.url) ? callService : fetch)(url, {
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
    // The notification of the charge arrives; the notification that the customer paid is lost.
    const lostNotification = { operation: "pay", fault: "webhook_lost" };
    const calls: [string, object][] = [
      ["webhooks/settle", {}],
      ["faults", lostNotification],
      [`transactions/${payment.transaction_id}/pay`, {}],
    ];
    for (const [path, body] of calls) {
      const response = await post(`${sandbox}/${path}`, body);
      assert.ok(response.ok, await response.text());
    }
    const duringService = await runCommand(["run", "check_payment_status", id], settings);
    assert.equal(duringService.code, 0, duringService.stderr);
    assert.equal(
      duringService.stdout,
      "1 processed, 1 changed, 0 failed\nPayment status: settlement\n",
    );
  }
  const withoutService = await runCommand(["run", "check_payment_status", id], settings);
  assert.equal(withoutService.code, 0, withoutService.stderr);
  assert.match(withoutService.stdout, /^1 processed, 0 changed, 0 failed\n.*settlement\n$/);
});

Deno.test("run: prints an error or the usage for wrong arguments", async () => {
  const settings = { DATABASE_URL: await createDatabase(), GATEWAY_SERVER_KEY: "Mid-server-x" };
  const help = await run(settings, "--help");
  assert.equal(help.code, 0);
  for (const task of TASKS) assert.ok(help.stdout.includes(task), task);
  const unknown = await run(settings, "check_everything");
  assert.deepEqual([unknown.code, unknown.stdout], [1, ""]);
  assert.match(unknown.stderr, /^Unknown task "check_everything"\.\n/);
  for (const task of TASKS) assert.ok(unknown.stderr.includes(task), task);
  const invalidArguments = [
    ...[[], ["check_payment_status"], ["process_charge_async"], ["check_pending_payments", "x"]],
    ["check_payment_status", "x", "y"],
  ];
  for (const args of invalidArguments) await assertRefused(settings, args, /^Usage: run TASK/);
  for (const id of ["00000000-0000-7000-8000-000000000000", "order-1"]) {
    const message = new RegExp(`^Payment ${id} not found\\.$`);
    await assertRefused(settings, ["check_payment_status", id], message);
  }
});

Deno.test("run: updates the progress in place on a terminal, and prints a line from time to time otherwise", () => {
  let now = 0;
  const showProgress = (isTerminal: boolean) => {
    let text = "";
    const screen = {
      isTerminal: () => isTerminal,
      writeSync: (bytes: Uint8Array) => (text += new TextDecoder().decode(bytes), bytes.length),
    };
    const progress = createProgress("sweep", screen, () => now);
    for (let done = 1; done <= 300; done++) {
      now += 50;
      progress.show(done, 300);
    }
    progress.end();
    return text;
  };
  const terminal = showProgress(true);
  assert.ok(terminal.startsWith("\rsweep: 1 of 300\rsweep: 3 of 300"));
  assert.ok(!terminal.includes("\n"));
  assert.match(terminal, /\r +\r$/, "the line is cleared before the summary");
  assert.equal(showProgress(false), "sweep: 200 of 300\n");
});
