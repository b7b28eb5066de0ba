import assert from "node:assert/strict";
import { join } from "node:path";
import { createSchedule } from "../../sandbox/engine/schedule.ts";
import { createClock } from "../../sandbox/engine/time.ts";
import {
  call,
  type Json,
  openReceiver,
  openSandbox,
  type TestSandbox,
} from "../support/gateway/sandbox.ts";
import { PROJECT } from "../support/project.ts";
import { until } from "../support/until.ts";

/** How many final records of each kind a sandbox without a state file keeps. */
const LIMIT = 8;

async function createStateFile(): Promise<{ path: string; folder: string } & AsyncDisposable> {
  const folder = await Deno.makeTempDir({ prefix: "sandbox-" });
  return {
    folder,
    path: join(folder, "state.sqlite"),
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

/** Charges and pays transactions with the order ids `NAME-0`, `NAME-1`, …, one after another. */
async function payMany(box: TestSandbox, name: string, count: number): Promise<Json[]> {
  const paid: Json[] = [];
  for (let index = 0; index < count; index++) {
    const transaction_details = { order_id: `${name}-${index}`, gross_amount: 10_000 };
    paid.push(await box.paid("gopay", { transaction_details }));
  }
  await box.waitForWebhooks();
  return paid;
}

Deno.test("state file: every call finds old final transactions", async () => {
  await using file = await createStateFile();
  await using box = await openSandbox({ path: file.path });
  const pending = await box.charge("bca", { transaction_details: { order_id: "pending-1" } });
  const paid = await payMany(box, "paid", 60);
  assert.equal((await box.status(pending.transaction_id)).transaction_status, "pending");
  const [oldest] = paid;
  for (const id of [oldest.transaction_id, "paid-0"]) {
    assert.deepEqual(await box.status(id), oldest);
    assert.equal((await box.control(`transactions/${id}`, undefined, "GET")).order_id, "paid-0");
  }
  const orders = (list: Json[]) => list.map(({ order_id }) => order_id);
  const newestFirst = orders(paid).toReversed();
  assert.deepEqual(orders(await box.get("/_sandbox/transactions")), [...newestFirst, "pending-1"]);
  const settled = await box.get("/_sandbox/transactions?status=settlement");
  assert.deepEqual(orders(settled), newestFirst);
  assert.deepEqual(orders(await box.get("/_sandbox/transactions?order_id=paid-3")), ["paid-3"]);
  const webhooks = await box.get(`/_sandbox/webhooks?transaction_id=${oldest.transaction_id}`);
  assert.deepEqual(webhooks.map(({ event }: Json) => event), ["settlement", "pending"]);
  const page = await box.call("GET", "/?order=PAID-3");
  assert.deepEqual(
    [...page.text.matchAll(/data-open="[^"]+"[^>]*>([^<]+)</g)].map(([, order]) => order),
    [...newestFirst.filter((order) => order.startsWith("paid-3"))],
  );
  assert.match(page.text, /11 of 61/);
  const duplicate = await box.charge("gopay", { transaction_details: { order_id: "paid-0" } });
  assert.equal(duplicate.status_code, "406");
  const day = oldest.settlement_time.slice(0, 10);
  const report = await box.call("GET", `/_sandbox/reports/settlement.csv?date=${day}`);
  assert.equal(report.text.trim().split("\r\n").length, 1 + 60);
});

Deno.test("state file: a final transaction that changes again is listed once, in its new state", async () => {
  await using file = await createStateFile();
  const options = { path: file.path };
  const refund = { amount: 1_000, refund_key: "first" };
  {
    await using box = await openSandbox(options);
    await payMany(box, "paid", 40);
    await box.post("/v2/paid-0/refund", refund);
    await check(box, "partial_refund");
    // The bank confirms the refund, so the transaction is final again.
    await box.advance(60);
    await payMany(box, "later", 20);
    await check(box, "partial_refund");
    await box.post("/v2/paid-0/refund", { amount: 9_000, refund_key: "second" });
    await check(box, "refund");
  }
  await using box = await openSandbox(options);
  await check(box, "refund");
  assert.equal((await box.post("/v2/paid-0/refund", refund)).status_code, "406");

  async function check(box: TestSandbox, status: string) {
    assert.equal((await box.status("paid-0")).transaction_status, status);
    const all: Json[] = await box.get("/_sandbox/transactions");
    const found = all.filter(({ order_id }) => order_id === "paid-0");
    assert.deepEqual(found.map(({ transaction_status }) => transaction_status), [status]);
    // The changed transaction keeps its place: it is still the oldest.
    assert.deepEqual(all.slice(-2).map(({ order_id }) => order_id), ["paid-1", "paid-0"]);
    const listed = await box.get(`/_sandbox/transactions?status=${status}`);
    assert.deepEqual(listed.map(({ order_id }: Json) => order_id), ["paid-0"]);
    assert.match((await box.call("GET", "/")).text, new RegExp(`${all.length} total`));
  }
});

Deno.test("state file: only the latest final webhooks are kept, and all transactions", async () => {
  await using file = await createStateFile();
  const counts = async (box: TestSandbox) => [
    (await box.get("/_sandbox/transactions")).length,
    (await box.get("/_sandbox/webhooks")).length,
  ];
  {
    await using box = await openSandbox({ path: file.path, maxFinal: LIMIT });
    const [oldest] = await payMany(box, "paid", 10);
    assert.deepEqual(await counts(box), [10, LIMIT]);
    const path = `/_sandbox/webhooks?transaction_id=${oldest.transaction_id}`;
    assert.deepEqual(await box.get(path), []);
  }
  await using box = await openSandbox({ path: file.path, maxFinal: LIMIT });
  const [{ transaction_id }] = await payMany(box, "later", 1);
  assert.deepEqual(await counts(box), [11, LIMIT]);
  const latest = await box.get(`/_sandbox/webhooks?transaction_id=${transaction_id}`);
  assert.deepEqual(latest.map(({ event }: Json) => event), ["settlement", "pending"]);
});

Deno.test("sandbox without a state file: the oldest final records of each kind are deleted", async () => {
  await using box = await openSandbox({ maxFinal: LIMIT });
  await box.charge("bca", { transaction_details: { order_id: "pending-1" } });
  await payMany(box, "paid", 60);
  assert.equal((await box.get("/_sandbox/transactions")).length, LIMIT + 1);
  assert.equal((await box.get("/_sandbox/webhooks")).length, LIMIT);
  assert.equal((await box.get("/_sandbox/transactions?order_id=paid-0")).length, 0);
  assert.equal((await box.status("paid-0")).status_code, "404");
  assert.equal((await box.status("paid-59")).transaction_status, "settlement");
  assert.equal((await box.status("pending-1")).transaction_status, "pending");
  // A transaction that becomes final now is the latest, even if it was created first.
  await box.control("transactions/pending-1/pay");
  assert.equal((await box.status("pending-1")).transaction_status, "settlement");
  assert.equal((await box.get("/_sandbox/transactions")).length, LIMIT);
});

Deno.test("kill -9 while transactions are paid: none is lost or listed twice", async () => {
  await using file = await createStateFile();
  await using receiver = openReceiver();
  const paid: string[] = [];
  for (let run = 0; run < 3; run++) {
    const process = await startProcess(file.folder, file.path, receiver.url);
    const pay = async (order_id: string) => {
      await call(process.url, "POST", "/v2/charge", {
        payment_type: "gopay",
        transaction_details: { order_id, gross_amount: 1_000 },
      });
      const { http } = await call(process.url, "POST", `/_sandbox/transactions/${order_id}/pay`);
      if (http === 200) paid.push(order_id);
    };
    const before = paid.length;
    const orders = Array.from({ length: 60 }, (_, index) => `run-${run}-${index}`);
    const all = Promise.all(orders.map((order) => pay(order).catch(() => {})));
    await until("some transactions are paid", () => paid.length >= before + 20 + run * 7);
    await process.kill();
    await all;
  }
  await using box = await openSandbox({ path: file.path });
  for (const order of paid) {
    assert.equal((await box.status(order)).transaction_status, "settlement", order);
    assert.equal((await box.get(`/_sandbox/transactions?order_id=${order}`)).length, 1, order);
  }
});

/** A sandbox in its own process, which the test kills. */
async function startProcess(folder: string, path: string, notification_url: string) {
  const script = join(folder, "sandbox.ts");
  const options = { path, port: 0, settings: { notification_url } };
  await Deno.writeTextFile(
    script,
    `import { startSandbox } from ${JSON.stringify(`file://${PROJECT}/sandbox/sandbox.ts`)};
const sandbox = await startSandbox(${JSON.stringify(options)});
console.log(sandbox.url);`,
  );
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--config", join(PROJECT, "deno.json"), script],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  return {
    url: value.trim(),
    async kill() {
      process.kill("SIGKILL");
      await reader.cancel();
      await process.status;
    },
  };
}

Deno.test("schedule: cancelled entries are removed from memory, and the others run in order", async () => {
  const clock = createClock();
  const ran: string[] = [];
  const schedule = createSchedule(clock, (key) => {
    ran.push(key);
    return Promise.resolve();
  }, () => Promise.resolve());
  schedule.start();
  const start = clock.now() + 60_000;
  for (let index = 0; index < 5_000; index++) {
    schedule.set(`${index}`, start + index);
    if (index % 1_000 !== 0) schedule.set(`${index}`, null);
  }
  schedule.set("0", start + 4_500);
  assert.ok(schedule.size <= 2_100, `${schedule.size} entries`);
  await schedule.advance(start + 10_000);
  assert.deepEqual(ran, ["1000", "2000", "3000", "4000", "0"]);
  assert.equal(schedule.size, 0);
  schedule.close();
});
