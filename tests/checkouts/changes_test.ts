import assert from "node:assert/strict";
import { METHODS } from "../../core/checkouts/methods.ts";
import { createGatewayClient } from "../../core/gateway/client.ts";
import { checkCheckouts } from "../../core/checkouts/settle_checkout.ts";
import {
  CHARGED_METHODS,
  openCheckouts,
  type TestCheckouts,
} from "../support/checkouts/checkouts.ts";
import type { Checkout } from "../support/checkouts/checkouts.ts";
import { runSql } from "../support/database/database.ts";
import { createHeldDatabase } from "../support/database/held_database.ts";
import { AMOUNT, CUSTOMER, ITEMS } from "../support/gateway/sandbox.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { manualClock } from "../support/manual_clock.ts";
import { someOf } from "../support/share.ts";

const PHONE = { phone: "+628123456789" };
const MINUTE_MS = 60_000;

/** A key of no account. */
const WRONG_KEY = "SB-Mid-server-wrong";

/** All methods can be chosen. */
const COMPLETE = { gross_amount: AMOUNT, item_details: ITEMS, customer_details: CUSTOMER };

/** The statuses of all transactions at the gateway, by the order of the attempts. */
async function statuses(checkouts: TestCheckouts, checkout: Checkout): Promise<string[]> {
  const all = await checkouts.transactionsOf(checkout);
  return all.map(({ order_id, transaction_status }) =>
    `${order_id.replace(checkout.order_id, "")} ${transaction_status}`.trim()
  );
}

/** Learns the state of all pending payments, and lets the jobs finish. */
async function sync(checkouts: TestCheckouts, checkout: Checkout): Promise<Checkout> {
  const { attempts } = await checkouts.readCheckout(checkout.id);
  for (const { order_id } of attempts) {
    const [payment] = await (await checkouts.get(`/payments/?order_id=${order_id}`)).json();
    if (payment) await checkouts.check(payment.id);
  }
  await runDueJobs(checkouts.app);
  return await checkouts.readCheckout(checkout.id);
}

/** Which screen the page shows. */
function screenOf(page: string): string | undefined {
  return page.match(/class="page (?:screen-)?(\w+)"/)?.[1];
}

const closable = CHARGED_METHODS.filter((id) => METHODS[id].closing !== "wait");
const pairs = closable.flatMap((first) =>
  CHARGED_METHODS.filter((second) => second !== first).map((second) => [first, second] as const)
);

Deno.test("change of method: closes the first at the gateway before it charges the second, in every order of two", async (t) => {
  await using checkouts = await openCheckouts();
  for (const [first, second] of someOf(pairs)) {
    await t.step(`${first}, then ${second}`, async () => {
      const checkout = await checkouts.create(COMPLETE);
      await checkouts.choose(checkout, first, PHONE);
      assert.deepEqual(await statuses(checkouts, checkout), ["pending"]);
      await checkouts.choose(checkout, second, PHONE);
      const { closing } = METHODS[first];
      assert.deepEqual(await statuses(checkouts, checkout), [closing, "~2 pending"]);
      const { status, attempts } = await checkouts.readCheckout(checkout.id);
      assert.deepEqual(
        [status, attempts.map(({ method, status }) => `${method} ${status}`)],
        ["open", [`${first} closed`, `${second} open`]],
      );
    });
  }
});

Deno.test("change of method: while OVO waits for the customer, nothing else is charged", async () => {
  await using checkouts = await openCheckouts();
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "ovo", PHONE);
  await checkouts.choose(checkout, "qris");
  assert.deepEqual(await statuses(checkouts, checkout), ["pending"]);
  const { attempts } = await checkouts.readCheckout(checkout.id);
  assert.deepEqual(attempts.map(({ status }) => status), ["closing"]);
  await checkouts.sandbox.advance(120);
  await sync(checkouts, checkout);
  await checkouts.choose(checkout, "qris");
  assert.deepEqual(await statuses(checkouts, checkout), ["expire", "~2 pending"]);
});

Deno.test("change of method: if the first was paid in that moment, the checkout is paid and nothing is charged", async () => {
  await using checkouts = await openCheckouts();
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "bca_va");
  const [{ transaction_id }] = await checkouts.transactionsOf(checkout) as [
    { transaction_id: string },
  ];
  await checkouts.sandbox.control(`transactions/${transaction_id}/pay`);
  const page = await checkouts.choose(checkout, "qris");
  assert.deepEqual(await statuses(checkouts, checkout), ["settlement"]);
  const paid = await checkouts.readCheckout(checkout.id);
  assert.deepEqual([paid.status, paid.attempts.length], ["paid", 1]);
  assert.equal(screenOf(page), "paid");
});

Deno.test("change of method: two devices that choose at the same moment leave one payable attempt", async () => {
  await using checkouts = await openCheckouts({ poolSize: 8 });
  for (let round = 0; round < 5; round++) {
    const checkout = await checkouts.create();
    await checkouts.choose(checkout, "bca_va");
    const choices = ["qris", "gopay", "bni_va", "indomaret", "shopeepay"];
    await Promise.all(choices.map((method) => checkouts.choose(checkout, method)));
    await sync(checkouts, checkout);
    const all = await statuses(checkouts, checkout);
    assert.ok(all.filter((each) => each.endsWith("pending")).length <= 1, all.join(", "));
    const { attempts } = await checkouts.readCheckout(checkout.id);
    assert.ok(attempts.filter(({ closed_at }) => closed_at === null).length <= 1);
  }
});

Deno.test("change of method: while the gateway does not confirm the closing, the page waits and nothing is charged", async () => {
  const { now, advance } = manualClock();
  await using checkouts = await openCheckouts({ now });
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "bca_va");
  await checkouts.sandbox.fault("expire", "answer_lost");
  const waiting = await checkouts.choose(checkout, "qris");
  assert.equal(screenOf(waiting), "waiting");
  assert.equal((await checkouts.transactionsOf(checkout)).length, 1);
  advance(2 * MINUTE_MS);
  await sync(checkouts, checkout);
  const { attempts } = await checkouts.readCheckout(checkout.id);
  assert.deepEqual(attempts.map(({ status }) => status), ["closed"]);
  await checkouts.choose(checkout, "qris");
  assert.deepEqual(await statuses(checkouts, checkout), ["expire", "~2 pending"]);
});

Deno.test("change of method: a charge with a lost response is found before another is made", async () => {
  const { now, advance } = manualClock();
  await using checkouts = await openCheckouts({ now });
  const checkout = await checkouts.create();
  await checkouts.sandbox.fault("charge", "answer_lost");
  assert.equal(screenOf(await checkouts.choose(checkout, "gopay")), "waiting");
  await checkouts.choose(checkout, "bca_va");
  const after = await statuses(checkouts, checkout);
  assert.ok(after.filter((each) => each.endsWith("pending")).length <= 1, after.join(", "));
  advance(2 * MINUTE_MS);
  await sync(checkouts, checkout);
  await checkouts.choose(checkout, "bca_va");
  assert.deepEqual(await statuses(checkouts, checkout), ["cancel", "~2 pending"]);
});

Deno.test("change of method: a charge that is held up does not arrive after another method was chosen", async () => {
  await using checkouts = await openCheckouts();
  const held = createHeldDatabase();
  await using paused = await openCheckouts({
    databaseUrl: checkouts.databaseUrl,
    gatewayUrl: checkouts.sandbox.url,
    ...held,
  });
  const checkout = await checkouts.create();
  const insert = held.holdNext("insert payment");
  const first = paused.choose(checkout, "bca_va");
  await insert.arrived;
  await checkouts.choose(checkout, "qris");
  assert.deepEqual(await statuses(checkouts, checkout), ["~2 pending"]);
  insert.release();
  await first;
  assert.deepEqual(await statuses(checkouts, checkout), ["~2 pending"]);
  const { attempts } = await checkouts.readCheckout(checkout.id);
  assert.deepEqual(attempts.map(({ status }) => status), ["closed", "open"]);
});

Deno.test("page: shows a payment that arrives while the page is read", async () => {
  const held = createHeldDatabase();
  await using checkouts = await openCheckouts(held);
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "bca_va");
  const [payment] = await checkouts.paymentsOf(checkout);
  const { transaction_id } = await checkouts.read(payment!.id);
  const first = held.holdNext("list payments of checkout");
  const reading = checkouts.page(checkout);
  await first.arrived;
  const second = held.holdNext("list payments of checkout");
  first.release();
  await second.arrived;
  await checkouts.sandbox.control(`transactions/${transaction_id}/pay`);
  await checkouts.refresh(payment!.id);
  second.release();
  assert.equal(screenOf(await reading), "processing");
  assert.equal(screenOf(await checkouts.page(checkout)), "paid");
});

Deno.test("checkout: is not charged more than ten times", async () => {
  await using checkouts = await openCheckouts();
  const checkout = await checkouts.create();
  for (let round = 0; round < 12; round++) {
    await checkouts.choose(checkout, round % 2 === 0 ? "bca_va" : "bni_va");
  }
  assert.equal((await checkouts.transactionsOf(checkout)).length, 10);
  const { attempts } = await checkouts.readCheckout(checkout.id);
  assert.deepEqual(attempts.map(({ order_id }) => order_id), [
    checkout.order_id,
    ...Array.from({ length: 9 }, (_, index) => `${checkout.order_id}~${index + 2}`),
  ]);
});

Deno.test("checkout: a method that the gateway refuses disappears, and another can be chosen", async () => {
  await using checkouts = await openCheckouts();
  const checkout = await checkouts.create();
  await checkouts.sandbox.control("settings", { inactive_payment_types: ["gopay"] }, "PATCH");
  const page = await checkouts.choose(checkout, "gopay");
  assert.equal(screenOf(page), "choose");
  assert.doesNotMatch(page, /value="gopay"/);
  await checkouts.choose(checkout, "bca_va");
  assert.deepEqual(await statuses(checkouts, checkout), ["~2 pending"]);
});

for (const method of ["gopay", "credit_card"] as const) {
  Deno.test(`checkout: ${method} is offered again after a call with a wrong server key`, async () => {
    await using checkouts = await openCheckouts();
    const checkout = await checkouts.create();
    const { gateway } = checkouts.app.service;
    const { charge, createSnapPage } = gateway;
    Object.assign(
      gateway,
      createGatewayClient({ baseUrl: gateway.baseUrl, serverKey: WRONG_KEY, clientKey: null }),
    );
    const page = await checkouts.choose(checkout, method);
    assert.equal(screenOf(page), "choose");
    Object.assign(gateway, { charge, createSnapPage });
    await checkouts.choose(checkout, method);
    const { attempts } = await checkouts.readCheckout(checkout.id);
    assert.deepEqual(attempts.map(({ method, status }) => [method, status]), [
      [method, "closed"],
      [method, "open"],
    ]);
  });
}

Deno.test("checkout: if the account has no OVO, the page says so and does not ask for another number", async () => {
  await using checkouts = await openCheckouts();
  const checkout = await checkouts.create();
  await checkouts.sandbox.control("settings", { inactive_payment_types: ["ovo"] }, "PATCH");
  const page = await checkouts.choose(checkout, "ovo", PHONE);
  assert.equal(screenOf(page), "choose");
  assert.doesNotMatch(page, /value="ovo"/);
  assert.match(page, /OVO sedang tidak bisa dipakai/);
});

Deno.test("checkout: a number without an OVO account can be corrected", async () => {
  await using checkouts = await openCheckouts();
  const checkout = await checkouts.create();
  const page = await checkouts.choose(checkout, "ovo", { phone: "+628249134000" });
  assert.match(page, /Nomor itu belum terdaftar di OVO/);
  assert.equal(screenOf(await checkouts.choose(checkout, "ovo", PHONE)), "instructions");
});

Deno.test("checkout: an order id that another program has used at the gateway is no fault of the method", async () => {
  await using checkouts = await openCheckouts();
  const checkout = await checkouts.create();
  await checkouts.sandbox.paid("bca", { transaction_details: { order_id: checkout.order_id } });
  const page = await checkouts.choose(checkout, "gopay");
  assert.match(page, /value="gopay"/);
  await checkouts.choose(checkout, "gopay");
  assert.deepEqual(await statuses(checkouts, checkout), ["settlement", "~2 pending"]);
});

Deno.test("OVO: a pasted number with invisible marks and unusual hyphens is understood", async () => {
  await using checkouts = await openCheckouts();
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "ovo", { phone: "\u202a0812‑3456/7890\u202c" });
  const [payment] = await checkouts.paymentsOf(checkout);
  const stored = await checkouts.app.database.query((sql) =>
    sql`select customer_phone from gateway.payments where id = ${payment!.id}`
  );
  assert.equal(stored[0]!.customer_phone, "081234567890");
});

Deno.test("OVO: a number that cannot be right is not charged, and the merchant's number is not used instead", async () => {
  await using checkouts = await openCheckouts();
  for (const customer_details of [undefined, CUSTOMER]) {
    const checkout = await checkouts.create({ customer_details });
    for (const phone of ["0812", "not a number", ""]) {
      assert.equal(screenOf(await checkouts.choose(checkout, "ovo", { phone })), "choose");
    }
    const { attempts } = await checkouts.readCheckout(checkout.id);
    assert.deepEqual(attempts, []);
  }
});

Deno.test("Akulaku: is not offered if two items have the same id", async () => {
  await using checkouts = await openCheckouts();
  const [item] = ITEMS;
  const item_details = [item, item];
  const repeated = await checkouts.create({
    gross_amount: 2 * AMOUNT,
    item_details,
    customer_details: CUSTOMER,
  });
  const page = await checkouts.page(repeated);
  assert.doesNotMatch(page, /value="akulaku"/);
  assert.match(page, /value="kredivo"/);
  assert.match(await checkouts.page(await checkouts.create(COMPLETE)), /value="akulaku"/);
});

for (const fault of ["rate_limit", "error_503", "reset"]) {
  Deno.test(`waiting page: after the fault ${fault} at the charge, the customer tries again and is charged once`, async () => {
    await using checkouts = await openCheckouts();
    const checkout = await checkouts.create();
    await checkouts.sandbox.fault("charge", fault, { count: 10 });
    const page = await checkouts.choose(checkout, "ovo", PHONE);
    assert.equal(screenOf(page), "waiting");
    await checkouts.sandbox.call("DELETE", "/_sandbox/faults");
    const fields = Object.fromEntries(
      [...page.matchAll(/name="(\w+)" value="([^"]+)"/g)].map(([, name, value]) => [name, value]),
    );
    assert.deepEqual(fields, { method: "ovo", ...PHONE });
    const { method, ...more } = fields;
    assert.equal(screenOf(await checkouts.choose(checkout, method!, more)), "instructions");
    assert.deepEqual(await statuses(checkouts, checkout), ["pending"]);
    const { attempts } = await checkouts.readCheckout(checkout.id);
    assert.deepEqual(attempts.map(({ status }) => status), ["open"]);
  });
}

Deno.test("expiry: an open attempt is closed, and the checkout expires with an event", async () => {
  const { now, advance } = manualClock();
  await using checkouts = await openCheckouts({ now });
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "bca_va");
  advance(24 * 60 * MINUTE_MS + 1_000);
  await checkouts.page(checkout);
  assert.equal(await checkCheckouts(checkouts.app.service), 1);
  await runDueJobs(checkouts.app);
  const { status, attempts } = await checkouts.readCheckout(checkout.id);
  assert.deepEqual([status, attempts.map(({ status }) => status)], ["expired", ["closed"]]);
  assert.deepEqual(await statuses(checkouts, checkout), ["expire"]);
  assert.deepEqual(await checkouts.events(checkout.id), ["checkout_expired"]);
  assert.equal(screenOf(await checkouts.page(checkout)), "expired");
});

Deno.test("expiry: a payment that arrives later makes the checkout paid and late", async () => {
  const { now, advance } = manualClock();
  await using checkouts = await openCheckouts({ now });
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "bca_va");
  const [transaction] = await checkouts.transactionsOf(checkout);
  await checkouts.sandbox.control(`transactions/${transaction!.transaction_id}/pay`);
  advance(25 * 60 * MINUTE_MS);
  const paid = await sync(checkouts, checkout);
  assert.deepEqual([paid.status, paid.is_late], ["paid", true]);
  assert.deepEqual(await checkouts.events(checkout.id), ["checkout_completed"]);
});

Deno.test("cancel: closes the attempt at the gateway; a paid checkout cannot be cancelled", async () => {
  await using checkouts = await openCheckouts();
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "gopay");
  const path = (id: string) => `/checkouts/${id}/cancel/`;
  const cancelled = await checkouts.post(path(checkout.id));
  assert.equal(cancelled.status, 200, await cancelled.clone().text());
  assert.deepEqual(await statuses(checkouts, checkout), ["cancel"]);
  assert.deepEqual(await checkouts.events(checkout.id), ["checkout_cancelled"]);
  assert.equal(screenOf(await checkouts.page(checkout)), "cancelled");
  assert.equal((await checkouts.post(path(checkout.id))).status, 200, "once more");

  const other = await checkouts.create();
  await checkouts.choose(other, "qris");
  const [transaction] = await checkouts.transactionsOf(other);
  await checkouts.sandbox.control(`transactions/${transaction!.transaction_id}/pay`);
  const refused = await checkouts.post(path(other.id));
  assert.equal(refused.status, 400);
  assert.equal((await refused.json()).checkout_status, "paid");
});

Deno.test("expiry: one run of check_checkouts finds more checkouts than a transaction enqueues", async () => {
  await using checkouts = await openCheckouts();
  await runSql(
    checkouts.databaseUrl,
    `insert into gateway.checkouts (id, user_id, order_id, status, gross_amount, currency,
       expires_at, check_at, created_at, updated_at)
     select gen_random_uuid(), 'alice', 'o' || i, 'open', 1000, 'IDR', now(), now(), now(), now()
     from generate_series(1, 1001) i`,
  );
  assert.equal(await checkCheckouts(checkouts.app.service), 1_001);
  assert.equal(await checkCheckouts(checkouts.app.service), 0);
});
