import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { startSandbox } from "../../sandbox/sandbox.ts";
import {
  call,
  type Json,
  linkedAccount,
  openReceiver,
  openSandbox,
  savedCard,
  type TestSandbox,
} from "../support/gateway/sandbox.ts";
import { freePort } from "../support/free_port.ts";
import { INVOICE, SUBSCRIPTION } from "../support/gateway/sandbox_requests.ts";
import { PROJECT } from "../support/project.ts";
import { until } from "../support/until.ts";

/** A state file in a temporary folder. */
async function createStateFile(): Promise<{ path: string; folder: string } & AsyncDisposable> {
  const folder = await Deno.makeTempDir({ prefix: "sandbox-" });
  return {
    folder,
    path: join(folder, "state.sqlite"),
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

/** All records and settings, read through the APIs. */
async function readState(box: TestSandbox, ids: Record<string, string>): Promise<Json> {
  const text = JSON.stringify({
    transactions: await box.get("/_sandbox/transactions"),
    webhooks: await box.get("/_sandbox/webhooks"),
    subscription: await box.get(`/v1/subscriptions/${ids.subscription}`),
    invoice: await box.get(`/v1/invoices/${ids.invoice}`),
    account: await box.get(`/v2/pay/account/${ids.account}`),
    settings: await box.get("/_sandbox/settings"),
  });
  // Sandbox and receiver listen on different ports after each start.
  return JSON.parse(text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "url"));
}

Deno.test("restart: keeps all records", async () => {
  await using file = await createStateFile();
  const ids: Record<string, string> = {};
  let before: Json;
  {
    await using box = await openSandbox({ path: file.path });
    await box.charge("bca");
    await box.paid("card");
    await box.paid("gopay");
    await box.post("/v2/order-3/refund", { amount: 1_000 });
    await box.charge("permata");
    await box.post("/v2/order-4/cancel");
    ids.charge = (await box.charge("gopay", {}, { "Idempotency-Key": "key" })).transaction_id;
    ids.card = await savedCard(box);
    ids.token = await box.token("4811111111111114");
    ids.account = (await linkedAccount(box)).account_id;
    const subscription = { ...SUBSCRIPTION, token: ids.card };
    ids.subscription = (await box.post("/v1/subscriptions", subscription)).id;
    ids.invoice = (await box.post("/v1/invoices", INVOICE)).id;
    await box.waitForWebhooks();
    before = await readState(box, ids);
  }
  await using box = await openSandbox({ path: file.path });
  assert.deepEqual(await readState(box, ids), before);
  const replayed = await box.charge("bca", {}, { "Idempotency-Key": "key" });
  assert.equal(replayed.transaction_id, ids.charge);
  for (const token_id of [ids.card, ids.token]) {
    const more = {
      credit_card: { token_id },
      transaction_details: { order_id: `with-${token_id}` },
    };
    more.transaction_details.order_id = more.transaction_details.order_id.slice(0, 50);
    assert.equal((await box.charge("card", more)).status_code, "200");
  }
  // Scheduled actions continue: the refund is confirmed, the subscription is charged.
  await box.advance(40 * 86_400);
  assert.ok((await box.status("order-3")).refunds[0].bank_confirmed_at);
  const { transaction_ids } = await box.get(`/v1/subscriptions/${ids.subscription}`);
  assert.equal(transaction_ids.length, 1);
  assert.equal((await box.status("order-1")).transaction_status, "expire");
});

Deno.test("restart: keeps the changed clock, even if nothing else changed", async () => {
  await using file = await createStateFile();
  {
    await using box = await openSandbox({ path: file.path });
    await box.control("clock", { to: "2040-01-01T00:00:00Z" });
  }
  await using box = await openSandbox({ path: file.path });
  const { now } = await box.get("/_sandbox/clock");
  assert.match(now, /^2040-01-01T00:0/);
});

Deno.test("restart: keeps changed settings, even if nothing else changed", async () => {
  await using file = await createStateFile();
  const changed = { reuse_order_id_after_deny: false };
  {
    await using box = await openSandbox({ path: file.path });
    await box.control("settings", changed, "PATCH");
  }
  await using box = await openSandbox({ path: file.path });
  assert.equal((await box.get("/_sandbox/settings")).reuse_order_id_after_deny, false);
});

Deno.test("restart: does not repeat ids, even with the same seed", async () => {
  await using file = await createStateFile();
  const seen: string[] = [];
  for (let run = 0; run < 3; run++) {
    await using box = await openSandbox({ path: file.path });
    const { transaction_id, va_numbers, merchant_id } = await box.charge("bca", {
      transaction_details: { order_id: `run-${run}` },
    });
    seen.push(transaction_id, va_numbers[0].va_number);
    assert.equal(merchant_id, (await box.status("run-0")).merchant_id);
  }
  assert.equal(new Set(seen).size, 6);
});

Deno.test("restart: does not repeat ids if settings were changed between charges", async () => {
  await using file = await createStateFile();
  const ids: string[] = [];
  for (let run = 0; run < 3; run++) {
    await using box = await openSandbox({ path: file.path });
    const charges = (count: number, name: string) =>
      Array.from({ length: count }, async (_, index) => {
        const transaction_details = { order_id: `${run}-${name}-${index}` };
        ids.push((await box.charge("qris", { transaction_details })).transaction_id);
      });
    await Promise.all(charges(2, "before"));
    const changed = box.control("settings", { reuse_order_id_after_deny: true }, "PATCH");
    await Promise.all([changed, ...charges(10, "during")]);
  }
  assert.equal(new Set(ids).size, 36);
});

/** All commits fail until the returned function is called. */
function breakCommits(): () => void {
  const { exec } = DatabaseSync.prototype;
  DatabaseSync.prototype.exec = function (sql) {
    if (sql === "commit") throw new Error("database or disk is full");
    exec.call(this, sql);
  };
  return () => DatabaseSync.prototype.exec = exec;
}

Deno.test("failed commit: undoes the operation, sends no webhook, and the operation can be repeated", async () => {
  await using file = await createStateFile();
  const ids: string[] = [];
  const charge = (box: TestSandbox) =>
    Promise.all(["a", "b", "c"].map((order_id) =>
      box.call("POST", "/v2/charge", {
        payment_type: "gopay",
        transaction_details: { order_id, gross_amount: 1_000 },
      })
    ));
  {
    // This test causes the disk error on purpose, so it does not count as an internal error.
    await using box = await openSandbox({ path: file.path, onError: () => {} });
    ids.push((await box.charge("bca")).transaction_id);
    await box.waitForWebhooks();
    const restore = breakCommits();
    try {
      for (const { http } of await charge(box)) assert.equal(http, 500);
      await box.call("POST", "/_sandbox/webhooks/settle");
      assert.equal((await box.status("a")).status_code, "404");
    } finally {
      restore();
    }
    assert.equal(box.hooks.length, 1);
    for (const { body } of await charge(box)) ids.push(body.transaction_id);
    await box.waitForWebhooks();
    assert.equal(box.hooks.length, 4);
  }
  await using box = await openSandbox({ path: file.path });
  ids.push((await box.charge("bca", { transaction_details: { order_id: "d" } })).transaction_id);
  assert.equal(new Set(ids).size, 5);
  assert.equal((await box.get("/_sandbox/transactions")).length, 5);
});

Deno.test("failed commit: what was scheduled before it runs after the next commit", async () => {
  await using file = await createStateFile();
  await using box = await openSandbox({ path: file.path, onError: () => {} });
  const { transaction_id } = await box.charge("gopay");
  const refused = await box.charge("bca");
  await box.waitForWebhooks();
  const restore = breakCommits();
  try {
    // Paying would remove the scheduled expiry.
    const path = `/_sandbox/transactions/${refused.transaction_id}/pay`;
    assert.equal((await box.call("POST", path)).http, 500);
    // The failed commits do not block a clock jump.
    await box.call("POST", "/_sandbox/clock", { advance_seconds: 2 * 86_400 });
  } finally {
    restore();
  }
  for (const id of [transaction_id, refused.transaction_id]) {
    assert.equal((await box.status(id)).transaction_status, "pending");
  }
  await box.charge("bca");
  for (const id of [transaction_id, refused.transaction_id]) {
    await until(
      "the transaction has expired and its webhook has arrived",
      () =>
        box.hooks.some(({ body }) =>
          body.transaction_id === id && body.transaction_status === "expire"
        ),
    );
  }
});

Deno.test("failed commit: is reported, also if no request waits for it", async () => {
  await using file = await createStateFile();
  const errors: unknown[] = [];
  await using box = await openSandbox({ path: file.path, onError: (error) => errors.push(error) });
  const restore = breakCommits();
  try {
    box.sandbox.notify("http://127.0.0.1:9/");
    await until("the error is reported", () => errors.length > 0);
  } finally {
    restore();
  }
  assert.match(
    String(errors[0]),
    /changes could not be written to .*state\.sqlite \(database or disk is full\)/,
  );
});

Deno.test("webhook: stores at most 50 attempts after many resends", async () => {
  await using file = await createStateFile();
  {
    await using box = await openSandbox({ path: file.path });
    box.receiver.answer = () => new Response("x".repeat(500), { status: 503 });
    await box.charge("bca");
    await box.waitForWebhooks();
    const [{ id }] = await box.get("/_sandbox/webhooks");
    for (let time = 0; time < 60; time++) await box.control(`webhooks/${id}/resend`);
    assert.equal((await box.get("/_sandbox/webhooks"))[0].attempts.length, 50);
  }
  await using box = await openSandbox({ path: file.path });
  assert.equal((await box.get("/_sandbox/webhooks"))[0].attempts.length, 50);
});

Deno.test("restart: continues to retry a webhook that was not delivered", async () => {
  await using file = await createStateFile();
  const closed = openReceiver();
  await closed[Symbol.asyncDispose]();
  const settings = { notification_url: closed.url };
  {
    await using box = await openSandbox({ path: file.path, settings });
    // The receiver is closed, so the webhook waits a few minutes for its retry.
    await box.charge("bca");
    await box.waitForWebhooks();
  }
  await using box = await openSandbox({ path: file.path, settings });
  const [waiting] = await box.get("/_sandbox/webhooks");
  assert.deepEqual([waiting.state, waiting.attempts.length], ["waiting", 1]);
  await box.advance(3_600);
  assert.ok((await box.get("/_sandbox/webhooks"))[0].attempts.length > 1);
});

Deno.test("restart: repeats a webhook that was being delivered at shutdown", async () => {
  await using file = await createStateFile();
  const receiver = openReceiver();
  const arrived = Promise.withResolvers<void>();
  const { promise: released, resolve } = Promise.withResolvers<void>();
  receiver.answer = async () => {
    arrived.resolve();
    await released;
    return new Response();
  };
  const box = await openSandbox({ path: file.path }, receiver);
  const { transaction_id } = await box.charge("bca");
  await arrived.promise;
  // A control call waits for its webhooks. This must not delay the shutdown.
  const paying = box.control(`transactions/${transaction_id}/pay`);
  await until(
    "the transaction is paid",
    async () => (await box.status(transaction_id)).transaction_status === "settlement",
  );
  const closed = box[Symbol.asyncDispose]();
  // `closed` also waits for the receiver, which has not responded yet. The free lock shows that the
  // sandbox itself is closed.
  await until("the state can be opened", () => {
    try {
      using _store = new DatabaseSync(file.path);
      return true;
    } catch {
      return false;
    }
  });
  resolve();
  await closed;
  await paying;
  const other = openReceiver();
  const settings = { notification_url: other.url };
  await using again = await openSandbox({ path: file.path, settings }, other);
  await again.waitForWebhooks();
  const webhooks: Json[] = await again.get("/_sandbox/webhooks");
  assert.deepEqual(
    webhooks.map(({ event, state, attempts }) => [event, state, attempts.length]),
    [["settlement", "waiting", 1], ["pending", "waiting", 1]],
  );
  // The stored attempt is from the second run; the first run did not store its aborted attempt.
  for (const { attempts } of webhooks) assert.doesNotMatch(attempts[0].answer, /timed out/);
});

Deno.test("restart: actions that became due in the meantime run at startup", async () => {
  await using file = await createStateFile();
  {
    await using box = await openSandbox({ path: file.path });
    // Reading this many records takes longer than the first transaction takes to expire.
    await Promise.all(Array.from({ length: 400 }, () => box.charge("gopay")));
    await box.waitForWebhooks();
  }
  // At this speed 15 minutes pass before the sandbox has read its state.
  await using box = await openSandbox({ path: file.path, speed: 1_000_000_000 });
  await until(
    "the first transaction has expired",
    async () => (await box.status("order-1")).transaction_status === "expire",
  );
  await until(
    "the webhook arrives",
    () => box.hooks.some(({ body }) => body.transaction_status === "expire"),
  );
});

Deno.test("restart: keeps a large record", async () => {
  await using file = await createStateFile();
  const id = await (async () => {
    await using box = await openSandbox({ path: file.path });
    const { transaction_id } = await box.paid("gopay");
    for (let i = 0; i < 90; i++) {
      const refund = { amount: 1, refund_key: `key-${i}`, reason: "理".repeat(255) };
      await box.post(`/v2/${transaction_id}/refund`, refund);
    }
    return transaction_id;
  })();
  await using box = await openSandbox({ path: file.path });
  const { refunds } = await box.status(id);
  assert.equal(refunds.length, 90);
  assert.equal(refunds[89].refund_key, "key-89");
});

Deno.test("state file: an invalid or damaged file is reported and not left locked", async () => {
  await using file = await createStateFile();
  const refused = {
    name: "StateFileError",
    message:
      /cannot read its state in .*state\.sqlite .* Delete the file to start fresh, or choose another file\.$/,
  };
  await Deno.writeTextFile(file.path, "no database".repeat(1000));
  await assert.rejects(startSandbox({ path: file.path, port: 0 }), refused);
  await Deno.remove(file.path);
  {
    await using box = await openSandbox({ path: file.path });
    await box.charge("bca");
  }
  {
    using db = new DatabaseSync(file.path);
    db.exec(`update transactions set value = '{"id":'`);
  }
  await assert.rejects(startSandbox({ path: file.path, port: 0 }), refused);
  await Deno.remove(file.path);
  await using box = await openSandbox({ path: file.path });
  assert.deepEqual(await box.get("/_sandbox/transactions"), []);
});

Deno.test("state file: files of earlier versions in its folder do not affect the start", async () => {
  await using file = await createStateFile();
  for (const name of ["", ".lock", ".archive", "-shm", "-wal"]) {
    await Deno.writeTextFile(join(file.folder, `sandbox.kv${name}`), "no database");
  }
  await using box = await openSandbox({ path: file.path });
  assert.deepEqual(await box.get("/_sandbox/transactions"), []);
});

/** A sandbox in its own process, which a test can kill. */
async function startProcess(folder: string, path: string, notification_url: string) {
  const script = join(folder, "sandbox.ts");
  await Deno.writeTextFile(
    script,
    `import { startSandbox } from ${JSON.stringify(`file://${PROJECT}/sandbox/sandbox.ts`)};
const options = ${
      JSON.stringify({ path, port: freePort(), seed: 1, settings: { notification_url } })
    };
const sandbox = await startSandbox(options);
console.log(sandbox.url);
`,
  );
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--config", join(PROJECT, "deno.json"), script],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  assert.match(value, /^http/);
  let isKilled = false;
  return {
    url: value.trim(),
    async kill() {
      if (!isKilled) process.kill("SIGKILL");
      isKilled = true;
      await reader.cancel();
      await process.status;
    },
  };
}

Deno.test("kill -9 after a response: loses no acknowledged operation and repeats no id", async () => {
  await using file = await createStateFile();
  await using receiver = openReceiver();
  const answered: Json[] = [];
  for (let run = 0; run < 3; run++) {
    const process = await startProcess(file.folder, file.path, receiver.url);
    const charge = (order_id: string) =>
      call(process.url, "POST", "/v2/charge", {
        payment_type: "bank_transfer",
        transaction_details: { order_id, gross_amount: 1_000 },
        bank_transfer: { bank: "bca" },
      });
    // All at the same time; the process is killed after the first response.
    const names = Array.from({ length: 20 }, (_, index) => `run-${run}-${index}`);
    const charges = names.map((name) =>
      charge(name).then(({ body }) => answered.push(body), () => {})
    );
    await Promise.race(charges);
    await process.kill();
    await Promise.all(charges);
  }
  assert.ok(answered.length >= 3);
  const last = openReceiver();
  await using box = await openSandbox(
    { path: file.path, settings: { notification_url: last.url } },
    last,
  );
  for (const { order_id, transaction_id, va_numbers } of answered) {
    const status = await box.status(order_id);
    assert.equal(status.transaction_id, transaction_id);
    assert.deepEqual(status.va_numbers, va_numbers);
  }
  await box.waitForWebhooks();
  const all: Json[] = await box.get("/_sandbox/transactions");
  assert.equal(new Set(all.map(({ transaction_id }) => transaction_id)).size, all.length);
  // Every transaction in a webhook exists.
  for (const { body } of receiver.hooks) {
    assert.equal((await box.status(body.transaction_id)).order_id, body.order_id);
  }
  const notified = new Set(receiver.hooks.map(({ body }) => body.transaction_id));
  for (const { transaction_id } of answered) assert.ok(notified.has(transaction_id));
});

Deno.test("kill -9 at the first webhook: every notified transaction exists after the restart", async () => {
  await using file = await createStateFile();
  await using receiver = openReceiver();
  const process = await startProcess(file.folder, file.path, receiver.url);
  const { promise: notified, resolve } = Promise.withResolvers<void>();
  receiver.answer = async () => {
    resolve();
    await process.kill();
    return new Response();
  };
  const charges = Array.from({ length: 30 }, (_, index) =>
    call(process.url, "POST", "/v2/charge", {
      payment_type: "gopay",
      transaction_details: { order_id: `order-${index}`, gross_amount: 1_000 },
      // Takes longer to write to disk than to send in a webhook.
      metadata: { text: "x".repeat(15_900) },
    }).catch(() => {}));
  await notified;
  await Promise.all(charges);
  await process.kill();
  const { body } = receiver.hooks[0]!;
  await using box = await openSandbox({ path: file.path, settings: { notification_url: null } });
  assert.equal((await box.status(body.transaction_id)).order_id, body.order_id);
});
