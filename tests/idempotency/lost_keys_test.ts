/** Requests that are repeated on a database that was copied before they were made. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { openApp, REAL_INSTALLATION, type TestApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { assertPaymentsMatchGateway } from "../support/payments/compare_with_gateway.ts";
import { runInProcess } from "../support/commands.ts";
import { type Json, openSandbox, type TestSandbox } from "../support/gateway/sandbox.ts";
import { newKey } from "../support/idempotency.ts";
import { assertProblem } from "../support/problem.ts";
import { dayInWib } from "../../core/gateway/times.ts";
import { PUBLIC_URL } from "../support/checkouts/checkouts.ts";

const SERVER_KEY = "Mid-server-of-lost-keys";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const CHARGE = { payment_type: "gopay", gross_amount: 44_000 };

type Post = (path: string, body: Json, headers?: HeadersInit) => Promise<Response>;

interface Opened extends AsyncDisposable {
  app: TestApp;
  key: string;
  post: Post;
  /** Sends a request that must succeed. */
  send: (...request: Parameters<Post>) => Promise<Json>;
}

interface Loss extends AsyncDisposable {
  sandbox: TestSandbox;
  /**
   * A service on the database, whose clock is ahead, as is the gateway's. The service of an earlier
   * call must be closed.
   */
  open(aheadMs?: number): Promise<Opened>;
  /** Copies the database, without its connections. */
  backUp(): Promise<void>;
  /** From now on, `open` uses the copy. `isTold`: the command `after-restore` runs. */
  restore(options: { isTold: boolean }): Promise<void>;
  transactions(): Promise<Json[]>;
}

async function openLoss(): Promise<Loss> {
  const sandbox = await openSandbox({ serverKey: SERVER_KEY, seed: undefined });
  let databaseUrl = await createDatabase({ isNew: true });
  let copy = "";
  let advancedMs = 0;
  return {
    sandbox,
    async open(aheadMs = 0) {
      await sandbox.advance((aheadMs - advancedMs) / 1_000);
      advancedMs = aheadMs;
      const app = await openApp({
        databaseUrl,
        gatewayUrl: sandbox.url,
        serverKey: SERVER_KEY,
        now: () => Date.now() + aheadMs,
        env: { ...REAL_INSTALLATION, PUBLIC_URL, RATE_LIMIT_BURST: "10000" },
      });
      const key = await app.createKey();
      const post: Post = (path, body, headers = {}) =>
        app.as(key, path, {
          method: "POST",
          body: JSON.stringify(body),
          headers: {
            "Content-Type": "application/json",
            ...Object.fromEntries(new Headers(headers)),
          },
        });
      return {
        app,
        key,
        post,
        async send(...request) {
          const response = await post(...request);
          assert.ok(response.ok, await response.clone().text());
          return await response.json();
        },
        [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
      };
    },
    async backUp() {
      copy = await createDatabase({ template: new URL(databaseUrl).pathname.slice(1) });
    },
    async restore({ isTold }) {
      databaseUrl = copy;
      if (!isTold) return;
      const settings = { DATABASE_URL: copy, GATEWAY_SERVER_KEY: SERVER_KEY };
      const { code, stderr } = await runInProcess(["after-restore"], settings);
      assert.equal(code, 0, stderr);
    },
    transactions: () => sandbox.control("transactions", undefined, "GET"),
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
}

/** Creates the secret from which order ids are derived, and makes a backup. */
async function backUpEmpty(loss: Loss): Promise<void> {
  {
    await using _first = await loss.open();
  }
  await loss.backUp();
}

for (const isTold of [true, false]) {
  const name = isTold ? "after the command after-restore" : "without the command after-restore";
  Deno.test(`lost idempotency key: a repeated charge is the first one, ${name}`, async () => {
    await using loss = await openLoss();
    await backUpEmpty(loss);
    const headers = newKey();
    let first: Json;
    {
      await using lost = await loss.open();
      first = await lost.send("/charge/", CHARGE, headers);
      await loss.sandbox.control(`transactions/${first.transaction_id}/pay`);
    }
    await loss.restore({ isTold });
    // So long after the charge that its time proves nothing.
    await using restored = await loss.open(30 * MINUTE_MS);
    const again = await restored.send("/charge/", CHARGE, headers);
    assert.deepEqual(
      [again.transaction_id, again.order_id, again.transaction_status],
      [first.transaction_id, first.order_id, "settlement"],
    );
    assert.equal((await loss.transactions()).length, 1);
    assert.deepEqual(await restored.send("/charge/", CHARGE, headers), again, "it is replayed");

    const other = await restored.send("/charge/", CHARGE, newKey());
    assert.notEqual(other.order_id, first.order_id, "another key makes another charge");
  });
}

for (const [ending, status] of [["cancel", "cancel"], ["expire", "expire"], ["deny", "deny"]]) {
  Deno.test(`lost idempotency key: a charge that has ended as ${status} is not made again`, async () => {
    await using loss = await openLoss();
    await loss.sandbox.control("settings", { reuse_order_id_after_deny: true }, "PATCH");
    await backUpEmpty(loss);
    const headers = newKey();
    let first: Json;
    {
      await using lost = await loss.open();
      first = await lost.send("/charge/", CHARGE, headers);
      if (ending === "cancel") await lost.send(`/payments/${first.id}/cancel/`, undefined);
      else await loss.sandbox.control(`transactions/${first.transaction_id}/${ending}`);
    }
    await loss.restore({ isTold: true });
    await using restored = await loss.open(30 * MINUTE_MS);
    const again = await restored.send("/charge/", CHARGE, headers);
    assert.deepEqual(
      [again.transaction_id, again.transaction_status],
      [first.transaction_id, status],
    );
    assert.equal((await loss.transactions()).length, 1);
  });
}

Deno.test("lost idempotency key: if the gateway cannot be asked at first, a later retry finds the charge, even if it was denied", async () => {
  for (const [isMetadataShown, isDenied] of [[true, false], [false, false], [true, true]]) {
    await using loss = await openLoss();
    await loss.sandbox.control("settings", { reuse_order_id_after_deny: true }, "PATCH");
    await loss.sandbox.showMetadata(isMetadataShown!);
    await backUpEmpty(loss);
    const headers = newKey();
    let first: Json;
    {
      await using lost = await loss.open();
      first = await lost.send("/charge/", CHARGE, headers);
      if (isDenied) await loss.sandbox.control(`transactions/${first.transaction_id}/deny`);
    }
    await loss.restore({ isTold: true });
    await using restored = await loss.open();
    await loss.sandbox.fault("status", "error_500", { count: 10 });
    const failed = await restored.post("/charge/", CHARGE, headers);
    assert.ok(failed.status >= 400 && (await failed.json()).outcome === "unknown");
    await loss.sandbox.control("faults", undefined, "DELETE");
    const again = await restored.send("/charge/", CHARGE, headers);
    assert.equal(again.transaction_id, first.transaction_id);
    assert.equal((await loss.transactions()).length, 1);
  }
});

Deno.test("lost idempotency key: with another amount or type, a repeated charge is refused and not made", async () => {
  await using loss = await openLoss();
  await backUpEmpty(loss);
  const headers = newKey();
  {
    await using lost = await loss.open();
    await lost.send("/charge/", CHARGE, headers);
  }
  await loss.restore({ isTold: true });
  await using restored = await loss.open();
  const other = { ...CHARGE, gross_amount: 45_000 };
  await assertProblem(await restored.post("/charge/", other, headers), 400, "duplicate_order");
  assert.equal((await loss.transactions()).length, 1);
});

Deno.test("idempotency key: used again after it has expired, it makes another charge, invoice and checkout", async () => {
  await using loss = await openLoss();
  const headers = newKey();
  const invoice = {
    customer_name: "Budi Utomo",
    due_date: dayInWib(new Date(Date.now() + 9 * DAY_MS)),
    items: [{ description: "Coffee", price: 10_000, quantity: 1 }],
  };
  const requests = [
    ["/charge/", CHARGE],
    ["/invoices/", invoice],
    ["/checkouts/", { gross_amount: 50_000 }],
  ] as const;
  const orders = new Map(requests.map(([path]) => [path, new Set<string>()]));
  for (const age of [0, DAY_MS + MINUTE_MS, 2 * (DAY_MS + MINUTE_MS)]) {
    await using service = await loss.open(age);
    for (const [path, body] of requests) {
      const { order_id } = await service.send(path, body, headers);
      assert.match(order_id, /^0/, "begins with a digit, as no order prefix does");
      orders.get(path)!.add(order_id);
    }
  }
  assert.deepEqual([...orders.values()].map(({ size }) => size), [3, 3, 3]);
  assert.equal((await loss.transactions()).length, 2 + 1);
});

Deno.test("lost idempotency key: the second charge with an expired key is also found", async () => {
  await using loss = await openLoss();
  const headers = newKey();
  {
    await using service = await loss.open();
    await service.send("/charge/", CHARGE, headers);
  }
  await loss.backUp();
  let second: Json;
  {
    await using lost = await loss.open(DAY_MS + MINUTE_MS);
    second = await lost.send("/charge/", CHARGE, headers);
  }
  await loss.restore({ isTold: false });
  await using restored = await loss.open(DAY_MS + 2 * MINUTE_MS);
  const again = await restored.send("/charge/", CHARGE, headers);
  assert.equal(again.transaction_id, second.transaction_id);
  assert.equal((await loss.transactions()).length, 2);
});

for (const isTold of [true, false]) {
  const name = isTold ? "after the command after-restore" : "without the command after-restore";
  Deno.test(`lost idempotency key: a repeated refund is the first one, ${name}`, async () => {
    await using loss = await openLoss();
    const refund = { amount: 10_000 };
    let payment: Json;
    {
      await using service = await loss.open();
      payment = await service.send("/charge/", CHARGE);
      await loss.sandbox.control(`transactions/${payment.transaction_id}/pay`);
      await service.app.as(service.key, `/payments/${payment.id}/check_status/`);
    }
    await loss.backUp();
    const path = `/payments/${payment.id}/refund/`;
    const [first, second, changed] = [newKey(), newKey(), newKey()];
    const keys: string[] = [];
    {
      await using lost = await loss.open();
      for (const headers of [first, second, changed]) {
        keys.push((await lost.send(path, refund, headers)).refund.refund_key);
      }
    }
    await loss.restore({ isTold });
    {
      await using restored = await loss.open();
      for (const [index, headers] of [first, second].entries()) {
        const again = await restored.send(path, refund, headers);
        assert.equal(again.refund.refund_key, keys[index]);
        assert.equal(again.refund.status, "succeeded");
        assert.deepEqual(await restored.send(path, refund, headers), again);
      }
      if (isTold) {
        const other = await restored.post(path, { amount: 9_000 }, changed);
        await assertProblem(other, 422, "idempotency_key_reused");
      } else await restored.send(path, refund, changed);
      const { database } = restored.app;
      await assertPaymentsMatchGateway(database, loss.sandbox, { isRestored: isTold });
    }
    const [books] = await loss.transactions();
    assert.equal(books.refund_amount, "30000.00");

    await using later = await loss.open(DAY_MS + MINUTE_MS);
    const third = await later.send(path, refund, first);
    assert.equal(third.payment.refund_amount, "40000.00", "the key has expired");
  });
}

Deno.test("lost idempotency key: a refund that was refused twice before it was made is not made again", async () => {
  await using loss = await openLoss();
  let payment: Json;
  {
    await using service = await loss.open();
    payment = await service.send("/charge/", CHARGE);
    await loss.sandbox.control(`transactions/${payment.transaction_id}/pay`);
    await service.app.as(service.key, `/payments/${payment.id}/check_status/`);
  }
  await loss.backUp();
  const path = `/payments/${payment.id}/refund/`;
  const [refund, headers] = [{ amount: 10_000 }, newKey()];
  let first: Json;
  {
    await using lost = await loss.open();
    await loss.sandbox.fault("refund", "rate_limit", { count: 2 });
    for (let attempt = 1; attempt <= 2; attempt++) {
      await assertProblem(await lost.post(path, refund, headers), 400, "gateway_rate_limited");
    }
    first = await lost.send(path, refund, headers);
  }
  await loss.restore({ isTold: true });
  await using restored = await loss.open();
  const again = await restored.send(path, refund, headers);
  assert.equal(again.refund.refund_key, first.refund.refund_key);
  const [transaction] = await loss.transactions();
  assert.equal(transaction.refund_amount, "10000.00");
});

Deno.test("lost idempotency key: a repeated action gets the record as it is at the gateway, while keys are valid", async () => {
  await using loss = await openLoss();
  let payment: Json;
  {
    await using service = await loss.open();
    payment = await service.send("/charge/", CHARGE);
  }
  await loss.backUp();
  const path = `/payments/${payment.id}/cancel/`;
  const headers = newKey();
  {
    await using lost = await loss.open();
    await lost.send(path, undefined, headers);
  }
  await loss.restore({ isTold: true });
  {
    // The gateway repeats its own response for 5 minutes.
    await using restored = await loss.open(10 * MINUTE_MS);
    assert.equal((await restored.send(path, undefined, headers)).transaction_status, "cancel");
  }
  await using later = await loss.open(DAY_MS + MINUTE_MS);
  await assertProblem(await later.post(path, undefined, newKey()), 400, "invalid_state");
});

Deno.test("after-restore: the next events of all records and endpoints leave a gap in their numbers, once", async () => {
  await using loss = await openLoss();
  let payment: Json;
  {
    await using service = await loss.open();
    payment = await service.send("/charge/", CHARGE);
    await service.app.database.query((sql) =>
      sql`
        insert into gateway.attention (id, cause, event_count, updated_at)
        values (${randomUUID()}, 'jobs_failed', 1_500, now())`
    );
  }
  await loss.backUp();
  await loss.restore({ isTold: true });
  await using restored = await loss.open();
  const { database } = restored.app;
  const pay = `transactions/${payment.transaction_id}/pay`;
  await loss.sandbox.control(pay);
  await restored.app.as(restored.key, `/payments/${payment.id}/check_status/`);
  await restored.send(`/payments/${payment.id}/refund/`, {});
  const events = await database.query((sql) =>
    sql`
      select sequence from gateway.events where resource_id = ${payment.id} order by sequence`
  );
  assert.deepEqual(events.map(({ sequence }) => sequence), [1, 2_001, 2_002]);
  const [attention] = await database.query((sql) => sql`select event_count from gateway.attention`);
  assert.equal(attention!.event_count, 3_000);
});

Deno.test("after-restore: without payments, names the database and no password", async () => {
  const url = new URL(await createDatabase({ isNew: true }));
  url.password ||= "any-password";
  const settings = { DATABASE_URL: url.href, GATEWAY_SERVER_KEY: SERVER_KEY };
  const { stdout, stderr } = await runInProcess(["after-restore"], settings);
  const place = `${url.host}${url.pathname}`;
  const text = `There are no payments in ${place}. If you expected some, check DATABASE_URL.\n`;
  assert.equal(stdout, text, stderr);
});

Deno.test("after-restore: makes all open records due for a check, and prints where the backup ends", async () => {
  await using loss = await openLoss();
  {
    await using service = await loss.open();
    await service.send("/charge/", CHARGE);
    await service.send("/checkouts/", { gross_amount: 50_000 });
  }
  await loss.backUp();
  await loss.restore({ isTold: false });
  await using restored = await loss.open();
  const settings = {
    DATABASE_URL: restored.app.service.databaseUrl,
    GATEWAY_SERVER_KEY: SERVER_KEY,
  };
  const wrong = await runInProcess(["after-restore", "now"], settings);
  assert.match(wrong.stderr, /^Usage: after-restore/);
  const { stdout, stderr } = await runInProcess(["after-restore"], settings);
  const counts = "1 payments, 0 invoices, 1 checkouts, 0 subscriptions";
  const next = "Next: step 4 of docs/restoring\\.md \\(check what was open\\)\\. " +
    "Then start the service and upload the gateway's reports from \\d{4}-\\d\\d-\\d\\d on\\.";
  assert.match(
    stdout,
    new RegExp(`^The backup ends at \\S+Z\\.\n.*: ${counts}\\.\n${next}\n$`),
    stderr,
  );
  const [row] = await restored.app.database.query((sql) =>
    sql`
      select (select count(*) from gateway.payment_filters where check_at <= now()) as payments,
        (select count(*) from gateway.checkouts where check_at <= now()) as checkouts`
  );
  assert.deepEqual([row!.payments, row!.checkouts], [1, 1]);
});
