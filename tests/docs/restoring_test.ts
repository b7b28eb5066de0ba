/** The guide "Restoring a backup", followed with a service, callers and subscribers. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { openDatabase } from "../../db/connection/database.ts";
import { dayInWib } from "../../core/gateway/times.ts";
import { callService } from "../support/client.ts";
import { NOBODY_USER } from "../../db/embedded/platform.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { findPrograms, startDebianPostgres } from "../support/database/debian_postgres.ts";
import { type Json, openSandbox, type TestSandbox } from "../support/gateway/sandbox.ts";
import { blockWith, readGuide, runBlock } from "../support/guides/text.ts";
import { assertPaymentsMatchGateway } from "../support/payments/compare_with_gateway.ts";
import { assertNoContradictions } from "../support/records/contradictions.ts";
import { createDataFolder } from "../support/project.ts";
import { openShop, type Sent, type Shop } from "../support/restore/shop.ts";
import { openSubscribers } from "../support/restore/subscribers.ts";
import { type ServiceProcess, startService } from "../support/service.ts";
import { isPartial } from "../support/share.ts";
import { until } from "../support/until.ts";

const STAFF_KEY = "gk_" + "r".repeat(43);
const SERVER_KEY = "Mid-server-of-the-restore";

const programs = findPrograms();

/** What the shop has done, before the backup and after it. */
type Done = Record<string, Sent>;

async function actBefore(shop: Shop, sandbox: TestSandbox): Promise<Done> {
  const before = {
    partly: await shop.paid(50_000),
    fully: await shop.paid(60_000),
    held: await shop.card(70_000, { authorize: true }),
    released: await shop.card(80_000, { authorize: true }),
    pending: await shop.send("/charge/", {
      payment_type: "bank_transfer",
      bank: "bca",
      gross_amount: 90_000,
    }),
    expiring: await shop.gopay(15_000),
    checkout: await shop.send("/checkouts/", { gross_amount: 110_000 }),
    invoice: await shop.invoice(),
  };
  const refundPath = `/payments/${before.fully.reply.id}/refund/`;
  const refund = await shop.send(refundPath, { amount: 10_000 });
  await sandbox.waitForWebhooks();
  return { ...before, refund };
}

async function actAfter(shop: Shop, sandbox: TestSandbox, before: Done): Promise<Done> {
  const act = (record: Sent, action: string, body?: Json, headers?: Record<string, string>) =>
    shop.send(`/payments/${record.reply.id}/${action}/`, body, headers);
  const pay = (record: Json) => sandbox.control(`transactions/${record.transaction_id}/pay`);
  await pay(before.pending!.reply);
  await shop.choose(before.checkout!.reply, "gopay");
  const checkoutOrder = before.checkout!.reply.order_id;
  const [attempt] = await sandbox.control(
    `transactions?order_id=${checkoutOrder}`,
    undefined,
    "GET",
  );
  await pay(attempt);
  await sandbox.control(`invoices/${before.invoice!.reply.gateway_invoice_id}/pay`, {});
  const paid = await shop.paid(21_000);
  const lost = await shop.paid(22_000);
  const after: Done = {
    partialRefund: await act(before.partly!, "refund", { amount: 20_000 }),
    otherRefund: await act(before.partly!, "refund", { amount: 5_000 }),
    restRefund: await act(before.fully!, "refund"),
    capture: await act(before.held!, "capture", { amount: 65_000 }),
    release: await act(before.released!, "cancel"),
    expiry: await act(before.expiring!, "expire"),
    paid,
    lost,
    ordered: await shop.paid(23_000, { order_id: `shop-${crypto.randomUUID()}` }),
    pending: await shop.gopay(24_000),
    cancelled: await shop.gopay(25_000),
    card: await shop.card(26_000),
    invoice: await shop.invoice(),
    checkout: await shop.send("/checkouts/", { gross_amount: 27_000 }),
  };
  await act(after.cancelled!, "cancel");
  await act(paid, "refund", { amount: 1_000 });
  const queued = await shop.send(
    "/charge/",
    { payment_type: "qris", gross_amount: 28_000 },
    { Prefer: "respond-async" },
  );
  await until(
    "the job has succeeded",
    async () => (await shop.get(`/jobs/${queued.reply.id}/`)).status === "succeeded",
  );
  await sandbox.waitForWebhooks();
  return { ...after, queued };
}

/** The requests that callers repeat after the restore, before staff take over the rest. */
const REPEATED = [
  ...["partialRefund", "restRefund", "capture", "release", "expiry"],
  ...["paid", "ordered", "pending", "cancelled", "card", "queued"],
];

interface Books {
  transactions: Json[];
  summary: Json[];
}

/** All transactions of the gateway with their refunds. */
async function readBooks(sandbox: TestSandbox): Promise<Books> {
  const transactions: Json[] = await sandbox.control("transactions", undefined, "GET");
  const summary = transactions.map((each) => [
    each.transaction_id,
    each.order_id,
    each.transaction_status,
    each.gross_amount,
    (each.refunds ?? []).map(({ refund_key, refund_amount }: Json) => [refund_key, refund_amount]),
  ]);
  return { transactions, summary };
}

async function repeatRequests(shop: Shop, after: Done): Promise<void> {
  for (const name of REPEATED) {
    const sent = after[name]!;
    const { status, body } = await shop.repeat(sent);
    assert.ok(status < 300, `${name}: ${JSON.stringify(body)}`);
    const [now, then] = [body.payment ?? body, sent.reply.payment ?? sent.reply];
    if (name === "queued") continue;
    assert.equal(now.transaction_id, then.transaction_id, name);
    assert.equal(now.order_id, then.order_id, name);
    if (!body.refund) continue;
    assert.equal(body.refund.refund_key, sent.reply.refund.refund_key, name);
    assert.equal(body.refund.amount, sent.reply.refund.amount, name);
  }
  const queued = (await shop.repeat(after.queued!)).body;
  await until(
    "the repeated job has succeeded",
    async () => (await shop.get(`/jobs/${queued.id}/`)).status === "succeeded",
  );
  const invoice = await shop.repeat(after.invoice!);
  assert.deepEqual([invoice.status, invoice.body.code], [400, "duplicate_order"]);
}

interface Backup {
  /** Makes the backup. */
  make(url: string): Promise<void>;
  /** Destroys the database, and restores it by the guide. Returns its new URL. */
  restore(url: string): Promise<string>;
}

interface Setup {
  guide: string;
  folder: string;
  databaseUrl: string;
  isMetadataShown: boolean;
  backup: Backup;
}

async function followGuide(setup: Setup): Promise<void> {
  const { guide, folder, backup, databaseUrl } = setup;
  await using sandbox = await openSandbox({ serverKey: SERVER_KEY });
  await sandbox.showMetadata(setup.isMetadataShown);
  await using subscribers = openSubscribers(STAFF_KEY);
  const settings = {
    HOST: "127.0.0.1",
    PUBLIC_URL: "https://pay.shop.example",
    GATEWAY_BASE_URL: sandbox.url,
    GATEWAY_SERVER_KEY: SERVER_KEY,
    WEBHOOK_ALLOW_PRIVATE: "true",
    BOOTSTRAP_STAFF_KEY: STAFF_KEY,
  };
  let serviceUrl = "";
  sandbox.receiver.answer = ({ text }) =>
    callService(`${serviceUrl}/notification/`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: text,
    }).catch(() => new Response(null, { status: 503 }));
  const staff = openShop(sandbox, STAFF_KEY, () => serviceUrl);

  let shop: Shop, before: Done, after: Done;
  {
    await using service = await startService({
      settings: { ...settings, DATABASE_URL: databaseUrl },
    });
    serviceUrl = service.url;
    const { key } = (await staff.send("/keys/", { user_id: "shop", name: "shop" })).reply;
    shop = openShop(sandbox, key, () => serviceUrl);
    const endpoint = await staff.send("/webhook-endpoints/", { url: subscribers.url });
    subscribers.setSecret(endpoint.reply.secret);
    before = await actBefore(shop, sandbox);
    await backup.make(databaseUrl);
    await subscribers.read(service.url);
    after = await actAfter(shop, sandbox, before);
    await subscribers.untilDelivered(service.url);
    service.signal("SIGKILL");
    await service.ended;
  }
  const books = await readBooks(sandbox);

  const restoredUrl = await backup.restore(databaseUrl);
  const { BOOTSTRAP_STAFF_KEY: _, ...restoredSettings } = settings;
  const env = { ...restoredSettings, DATABASE_URL: restoredUrl };
  const command = await runBlock(blockWith(guide, "sh", "after-restore"), env);
  assert.match(command.stdout, /^The backup ends at \S+Z\.\nThe service will check .*\d+ payments/);
  await runBlock(blockWith(guide, "sh", "run check_pending_payments"), env);
  await using service = await startService({ settings: env });
  serviceUrl = service.url;
  const refused = await tryCommand(guide, env);
  assert.match(refused, /Stop all instances/);
  await subscribers.resume(service.url);
  await repeatRequests(shop, after);

  await takeOverRest(service, setup, sandbox, folder);
  // A caller repeats its request late: the payment that has no owner becomes the caller's.
  const late = await shop.repeat(after.lost!);
  assert.equal(late.status, 201, JSON.stringify(late.body));
  assert.equal(late.body.transaction_id, after.lost!.reply.transaction_id);
  assert.equal(late.body.transaction_status, "settlement");
  // The customer of a checkout comes back, and does not pay again.
  await shop.choose(before.checkout!.reply, "gopay");
  const checkout = await shop.get(`/checkouts/${before.checkout!.reply.id}/`);
  assert.equal(checkout.status, "paid");
  assert.equal((await shop.get(`/invoices/${before.invoice!.reply.id}/`)).status, "paid");
  // A repeated checkout has the same order id, so that the gateway accepts one payment for it.
  const repeated = await shop.repeat(after.checkout!);
  assert.equal(repeated.body.order_id, after.checkout!.reply.order_id);

  await sandbox.waitForWebhooks();
  assert.deepEqual((await readBooks(sandbox)).summary, books.summary, "nothing is made twice");
  await assertServiceHasBooks(restoredUrl, sandbox);
  await subscribers.untilDelivered(service.url);
  subscribers.assertNoCollision();
  await assertNothingMissed(shop, staff, subscribers.states(), { ...before, ...after });
  service.signal("SIGTERM");
  await service.ended;
}

/**
 * The guide's variables with other values, and then a block that uses them. The values may use the
 * environment; a variable that the guide does not export is an error.
 */
function withVariables(guide: string, block: string, values: Record<string, string>): string {
  const exports = blockWith(guide, "sh", "export NEW_DATABASE_URL").replaceAll(
    /^export (\w+)=.*$/gm,
    (_, name: string) => `export ${name}='${values[name] ?? ""}'`,
  );
  return `${exports}\n${block}`;
}

async function tryCommand(guide: string, env: Record<string, string>): Promise<string> {
  const script = blockWith(guide, "sh", "after-restore").trim();
  return (await runBlock(`${script} 2>&1 && exit 1 || exit 0`, env)).stdout;
}

/** Uploads the gateway's report of each day, and takes over what is missing. */
async function takeOverRest(
  service: ServiceProcess,
  { guide }: Setup,
  sandbox: TestSandbox,
  folder: string,
): Promise<void> {
  const { transactions } = await readBooks(sandbox);
  const settled = transactions.flatMap(({ settlement_time }) => settlement_time ?? []);
  const days = new Set([...settled.map((time: string) => time.slice(0, 10)), dayInWib(new Date())]);
  for (const day of days) {
    const report = await sandbox.settlementReport(day);
    if (report.trim().split("\n").length < 2) continue;
    await Deno.writeTextFile(join(folder, `settlement-${day}.csv`), report);
  }
  const env = { API: service.url, STAFF_KEY };
  const { stdout } = await runBlock(blockWith(guide, "sh", "for REPORT"), env, folder);
  assert.match(stdout, /taken over: [1-9]/, stdout);
  for (const [, left] of stdout.matchAll(/differences left: (\d+)/g)) {
    assert.equal(left, "0", stdout);
  }
}

/** To the rupiah: each transaction is one payment, with the same state, amounts and refunds. */
async function assertServiceHasBooks(url: string, sandbox: TestSandbox): Promise<void> {
  const database = openDatabase({ url, poolSize: 1, deadlineMs: 60_000 });
  try {
    await assertPaymentsMatchGateway(database, sandbox, { isRestored: true });
    await assertNoContradictions(database);
  } finally {
    await database.close();
  }
}

/** Whether a receiver of webhooks has ended with the state of each order. */
async function assertNothingMissed(
  shop: Shop,
  staff: Shop,
  states: Map<string, Json>,
  done: Done,
): Promise<void> {
  const orders = new Set(Object.values(done).flatMap(({ reply }) => reply.order_id ?? []));
  for (const order of orders) {
    const payments: Json[] = await staff.get(`/payments/?order_id=${order}`);
    for (const { id, transaction_status } of payments) {
      if (transaction_status === "failure") continue;
      const payment = await staff.get(`/payments/${id}/`);
      const known = states.get(id);
      assert.deepEqual(
        [known?.transaction_status, known?.refund_amount, known?.gross_amount],
        [payment.transaction_status, payment.refund_amount, payment.gross_amount],
        `${order}: the last event has the state`,
      );
    }
  }
  const own: Json[] = await shop.get("/payments/?limit=100");
  assert.ok(own.length > 0);
}

Deno.test({
  name: "restoring guide: after a restore from a dump, the service has the gateway's books again",
  ignore: programs === null,
  async fn() {
    const guide = await readGuide("restoring.md");
    const production = await readGuide("production.md");
    await using data = await createDataFolder();
    await using files = await createDataFolder();
    await using server = await startDebianPostgres(programs!, data.path);
    const [databaseUrl, url] = await Promise.all(
      [1, 2].map(() => createDatabase({ server: server.url, template: null })),
    ) as [string, string];
    const tools = { PATH: `${server.programs}:/usr/bin:/bin` };
    const backup: Backup = {
      async make(DATABASE_URL) {
        const block = blockWith(production, "sh", "pg_dump --");
        await runBlock(block, { ...tools, DATABASE_URL }, files.path);
      },
      async restore(lost) {
        await runSql(server.url, `drop database ${new URL(lost).pathname.slice(1)} with (force)`);
        const block = blockWith(guide, "sh", "pg_restore --");
        await runBlock(withVariables(guide, block, { NEW_DATABASE_URL: url }), tools, files.path);
        return url;
      },
    };
    const folder = files.path;
    await followGuide({ guide, folder, databaseUrl, isMetadataShown: true, backup });
  },
});

/** The server of the tests runs as another user if the tests run as root. */
const SERVER_USER = Deno.uid() === 0 ? NOBODY_USER : { uid: Deno.uid()!, gid: Deno.gid()! };

function replaceOnce(text: string, from: string, to: string): string {
  assert.equal(text.split(from).length, 2, `the block has "${from}" once`);
  return text.replace(from, () => to);
}

/** Waits until everything that is committed is in the archive. */
async function archiveWal(url: string): Promise<void> {
  const [row] = await runSql(url, "select pg_walfile_name(pg_switch_wal()) as segment");
  await until("the WAL is archived", async () => {
    const [archiver] = await runSql(url, "select last_archived_wal from pg_stat_archiver");
    return (archiver!.last_archived_wal ?? "") >= row!.segment;
  });
}

Deno.test({
  name: "restoring guide: after a recovery to a moment, the service has the gateway's books again",
  ignore: programs === null || isPartial,
  async fn() {
    const guide = await readGuide("restoring.md");
    await using data = await createDataFolder();
    await using newData = await createDataFolder();
    await using files = await createDataFolder();
    const WAL_ARCHIVE = join(data.path, "wal");
    await Deno.mkdir(WAL_ARCHIVE);
    await Deno.chown(WAL_ARCHIVE, SERVER_USER.uid, SERVER_USER.gid);
    const settings = blockWith(guide, "ini", "archive_command").trim().split("\n").map((line) => {
      const [, name, value] = line.match(/^(\w+) = '?(.*?)'?$/)!;
      return `${name}=${value!.replaceAll("/var/backups/wal", WAL_ARCHIVE)}`;
    });
    await using resources = new AsyncDisposableStack();
    const server = await startDebianPostgres(programs!, data.path, { settings });
    const stop = resources.use(new AsyncDisposableStack());
    stop.use(server);
    const databaseUrl = await createDatabase({ server: server.url, template: null });
    const tools = { PATH: `${server.programs}:/usr/bin:/bin` };
    const values: Record<string, string> = {
      BACKUP_URL: server.url,
      BASE_BACKUP: join(files.path, "base"),
      NEW_DATA: join(newData.path, "cluster"),
      WAL_ARCHIVE,
    };
    const run = (block: string) => runBlock(withVariables(guide, block, values), tools, files.path);
    await run(blockWith(guide, "sh", "pg_basebackup"));
    const backup: Backup = {
      async make(url) {
        const [row] = await runSql(url, "select now()::text as now");
        values.MOMENT = row!.now;
      },
      async restore(lost) {
        await archiveWal(lost);
        await stop.disposeAsync();
        const copy = blockWith(guide, "sh", "recovery.signal");
        await run(replaceOnce(copy, "-R postgres:", `-R ${SERVER_USER.uid}:${SERVER_USER.gid}`));
        // It has a cluster already, so no other is created.
        const restored = await startDebianPostgres(programs!, newData.path);
        resources.use(restored);
        const { pathname } = new URL(lost);
        const url = Object.assign(new URL(restored.url), { pathname }).href;
        values.NEW_DATABASE_URL = url;
        const check = blockWith(guide, "sh", '"$NEW_DATABASE_URL" --tuples-only');
        await until("the server has recovered", async () => {
          const { stdout } = await run(check);
          return stdout.trim() === "f";
        });
        const reset = blockWith(guide, "sh", "alter system reset");
        await run(replaceOnce(reset, "runuser -u postgres -- psql", `psql '${restored.url}'`));
        const left = await Deno.readTextFile(`${values.NEW_DATA}/postgresql.auto.conf`);
        assert.doesNotMatch(left, /^(restore_command|recovery_)/m);
        return url;
      },
    };
    const folder = files.path;
    await followGuide({ guide, folder, databaseUrl, isMetadataShown: false, backup });
  },
});

Deno.test("restoring guide: taking over the reports ends at a job that has failed, and prints its error", async () => {
  for (const failing of ["comparison", "take-over"]) {
    const requests: string[] = [];
    const replies: Record<string, Json> = {
      "/reconciliations/": { id: "r", job_id: "comparison" },
      "/reconciliations/r/take-over/": { id: "take-over" },
    };
    await using api = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
      const { pathname } = new URL(request.url);
      requests.push(pathname);
      const [, job] = pathname.match(/^\/jobs\/(.+)\/$/) ?? [];
      const status = job === failing ? "failed" : "succeeded";
      return Response.json(replies[pathname] ?? { status, error: `${job}: no answer` });
    });
    await using folder = await createDataFolder();
    for (const day of [1, 2]) {
      await Deno.writeTextFile(join(folder.path, `settlement-2027-03-0${day}.csv`), "a\n");
    }
    const env = { API: `http://127.0.0.1:${api.addr.port}`, STAFF_KEY };
    const guide = await readGuide("restoring.md");
    const { stdout } = await runBlock(blockWith(guide, "sh", "for REPORT"), env, folder.path);
    assert.equal(stdout, `settlement-2027-03-01.csv, failed: ${failing}: no answer\n`);
    assert.equal(requests.filter((path) => path === "/reconciliations/").length, 1);
  }
});
