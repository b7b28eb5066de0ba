import assert from "node:assert/strict";
import { METHOD_IDS } from "../../core/checkouts/methods.ts";
import type { TestAppOptions } from "../support/app.ts";
import {
  type Checkout,
  openCheckouts,
  PUBLIC_URL,
  type TestCheckouts,
  withCheckouts,
} from "../support/checkouts/checkouts.ts";
import { createDatabase } from "../support/database/database.ts";
import { buildNotification, notifyAndRead } from "../support/gateway/notifications.ts";
import { openRelayed } from "../support/gateway/relay.ts";
import { AMOUNT, CUSTOMER, ITEMS, type Json } from "../support/gateway/sandbox.ts";
import { newKey } from "../support/idempotency.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { manualClock } from "../support/manual_clock.ts";
import { assertProblem } from "../support/problem.ts";

const HOUR_MS = 3_600_000;

/** The methods that the page offers, in their order. */
async function offered(checkouts: TestCheckouts, checkout: Checkout): Promise<string[]> {
  const html = await checkouts.page(checkout);
  return [...html.matchAll(/name="method"[^>]*value="(\w+)"/g)].map(([, method]) => method!);
}

type Relayed = Awaited<ReturnType<typeof openRelayedCheckouts>>;

/** With a gateway that reports states which the sandbox does not reach. */
async function openRelayedCheckouts(options: Partial<TestAppOptions> = {}) {
  return withCheckouts(await openRelayed({ ...options, env: { PUBLIC_URL } }));
}

/** The gateway reports a state of an attempt's payment. Lets the jobs finish. */
async function report(
  checkouts: Relayed,
  checkout: Checkout,
  attempt: number,
  state: string,
): Promise<Checkout> {
  const payments = await checkouts.paymentsOf(checkout);
  const payment = await checkouts.read(payments[attempt - 1]!.id);
  const body = buildNotification(payment, state);
  const { intercept } = checkouts.relay;
  checkouts.relay.intercept = (request, pass) =>
    request.target === `/v2/${payment.transaction_id}/status`
      ? Response.json(body)
      : intercept(request, pass);
  await notifyAndRead(checkouts, body);
  await runDueJobs(checkouts.app);
  return await checkouts.readCheckout(checkout.id);
}

Deno.test("checkout: is returned as it was created, with defaults for the rest", async () => {
  const { now } = manualClock();
  await using checkouts = await openCheckouts({ now });
  const input = {
    order_id: "order-of-46-characters-0123456789-0123456789-x",
    gross_amount: AMOUNT,
    item_details: ITEMS,
    customer_details: CUSTOMER,
    enabled_payments: ["bca_va", "qris"],
    finish_url: "https://shop.example/thanks?from=pay",
    cancel_url: "https://shop.example/cart",
    expires_at: new Date(now() + HOUR_MS).toISOString(),
    language: "en",
    metadata: { cart: "c-1" },
    custom_fields: ["one"],
  };
  const created = await checkouts.create(input);
  const { item_details: _items, customer_details: _customer, gross_amount: _, ...shown } = input;
  for (const [name, value] of Object.entries(shown)) {
    assert.deepEqual(created[name as keyof Checkout], value, name);
  }
  assert.equal(created.gross_amount, `${AMOUNT}.00`);
  assert.deepEqual(await checkouts.readCheckout(created.id), created);
  assert.deepEqual(await offered(checkouts, created), ["bca_va", "qris"]);

  const plain = await checkouts.create();
  assert.equal(new Date(plain.expires_at).getTime(), now() + 24 * HOUR_MS);
  const { status, attempts, payment, is_late, finish_url, cancel_url, language } = plain;
  assert.deepEqual(
    { status, attempts, payment, is_late, finish_url, cancel_url, language },
    {
      ...{ status: "open", attempts: [], payment: null, is_late: false },
      ...{ finish_url: null, cancel_url: null, language: null },
    },
  );
  // Lenders need details that this one does not have.
  const simple = METHOD_IDS.filter((id) => id !== "akulaku" && id !== "kredivo");
  assert.deepEqual(await offered(checkouts, plain), simple);
});

Deno.test("checkout: an invalid field is refused by its name", async () => {
  const { now } = manualClock();
  await using checkouts = await openCheckouts({ now });
  const after = (ms: number) => new Date(now() + ms).toISOString();
  const cases: [field: string, value: unknown][] = [
    ["order_id", "x".repeat(47)],
    ["gross_amount", 0],
    ["enabled_payments", []],
    ["enabled_payments", ["dana"]],
    ["enabled_payments", ["dana"]],
    // The amount is above its limit.
    ["enabled_payments", ["indomaret"]],
    ["finish_url", "http://shop.example/"],
    ["finish_url", "javascript:alert(1)"],
    ["cancel_url", "http://127.0.0.1/"],
    ["expires_at", after(60_000)],
    ["expires_at", after(31 * 24 * HOUR_MS)],
    ["language", "fr"],
    ["surprise", 1],
  ];
  for (const [field, value] of cases) {
    const body = { gross_amount: 6_000_000, [field]: value };
    const response = await checkouts.post("/checkouts/", body);
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.deepEqual(errors?.map(({ field }: Json) => String(field).split(/[.[]/)[0]), [field]);
  }
});

Deno.test("checkout: a repeated request gets the stored reply, even when its time is over", async () => {
  const { now, advance } = manualClock();
  await using checkouts = await openCheckouts({ now });
  const key = newKey();
  const body = { gross_amount: 50_000, expires_at: new Date(now() + HOUR_MS).toISOString() };
  const first = await (await checkouts.post("/checkouts/", body, key)).json();
  advance(HOUR_MS);
  const again = await checkouts.post("/checkouts/", body, key);
  assert.deepEqual([again.status, (await again.json()).id], [201, first.id]);
});

Deno.test("order ids of a checkout: charges and other checkouts cannot use them", async () => {
  await using checkouts = await openCheckouts();
  const { order_id } = await checkouts.create();
  const charge = { payment_type: "gopay", gross_amount: 10_000 };
  for (const name of [order_id, `${order_id}~2`, `${order_id}~10`]) {
    const response = await checkouts.post("/charge/", { ...charge, order_id: name });
    await assertProblem(response, 400, "duplicate_order");
    assert.deepEqual(await checkouts.transactions(name), []);
  }
  const repeated = await checkouts.post("/checkouts/", { gross_amount: 10_000, order_id });
  await assertProblem(repeated, 400, "duplicate_order");

  await checkouts.charge("gopay", { order_id: "taken~7" });
  const partly = await checkouts.post("/checkouts/", { gross_amount: 10_000, order_id: "taken" });
  const { order_id: named } = await assertProblem(partly, 400, "duplicate_order");
  assert.equal(named, "taken");
  // Nothing of the refused checkout stays reserved.
  await checkouts.charge("gopay", { order_id: "taken~2" });
});

Deno.test("checkouts: belong to their user; staff and viewers see all, and viewers change nothing", async () => {
  await using checkouts = await openCheckouts({ databaseUrl: await createDatabase() });
  const { app } = checkouts;
  const own = await checkouts.create();
  const bob = await app.createKey({ userId: "bob" });
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  const viewer = await app.createKey({ userId: "vera", isViewer: true });
  const of = await checkouts.post("/checkouts/", { gross_amount: 9_000 }, {}, bob);
  const bobs: Checkout = await of.json();
  const idsFor = async (key: string, query = "") => {
    const list: Checkout[] = await (await checkouts.get(`/checkouts/${query}`, key)).json();
    return list.map(({ id }) => id);
  };
  assert.deepEqual(await idsFor(checkouts.key), [own.id]);
  assert.deepEqual(await idsFor(bob), [bobs.id]);
  assert.deepEqual(await idsFor(staff), [bobs.id, own.id]);
  assert.deepEqual(await idsFor(viewer, "?user_id=bob"), [bobs.id]);

  await assertProblem(await checkouts.get(`/checkouts/${own.id}/`, bob), 404, "not_found");
  const cancel = `/checkouts/${own.id}/cancel/`;
  await assertProblem(await checkouts.post(cancel, undefined, {}, bob), 404, "not_found");
  await assertProblem(await checkouts.post(cancel, undefined, {}, viewer), 403, "forbidden");
  const create = { gross_amount: 9_000 };
  await assertProblem(await checkouts.post("/checkouts/", create, {}, viewer), 403, "forbidden");
  assert.equal((await checkouts.post(cancel, undefined, {}, staff)).status, 200);
});

Deno.test("list of checkouts: has filters, pages and no links", async () => {
  const { now, advance } = manualClock();
  await using checkouts = await openCheckouts({ now, databaseUrl: await createDatabase() });
  const created: Checkout[] = [];
  for (let count = 0; count < 5; count++) {
    created.push(await checkouts.create());
    advance(HOUR_MS);
  }
  const cancelled = created[1]!;
  assert.equal((await checkouts.post(`/checkouts/${cancelled.id}/cancel/`)).status, 200);
  const idsOf = async (query: string) => {
    const list: Checkout[] = await (await checkouts.get(`/checkouts/?${query}`)).json();
    for (const { checkout_url } of list) assert.equal(checkout_url, null);
    return list.map(({ id }) => created.findIndex((each) => each.id === id));
  };
  assert.deepEqual(await idsOf("status=cancelled"), [1]);
  assert.deepEqual(await idsOf("status=open"), [4, 3, 2, 0]);
  assert.deepEqual(await idsOf(`order_id=${created[3]!.order_id}`), [3]);
  const range = new URLSearchParams({
    created_from: created[1]!.created_at,
    created_to: created[3]!.created_at,
  });
  assert.deepEqual(await idsOf(`${range}`), [2, 1]);

  const pages: string[][] = [];
  for (let path: string | undefined = "/checkouts/?limit=2"; path;) {
    const response: Response = await checkouts.get(path);
    pages.push((await response.json()).map(({ id }: Checkout) => id));
    path = response.headers.get("link")?.match(/<(.+)>/)?.[1];
  }
  assert.deepEqual(pages.flat(), created.map(({ id }) => id).reverse());
  assert.equal(pages.length, 3);
});

Deno.test("checkout: while its payment is authorized or under review, nothing can be changed", async () => {
  await using checkouts = await openRelayedCheckouts();
  for (const state of ["authorize", "challenge"]) {
    const checkout = await checkouts.create();
    await checkouts.choose(checkout, "gopay");
    const { status } = await report(checkouts, checkout, 1, state);
    assert.equal(status, "processing", state);
    const page = await checkouts.choose(checkout, "bca_va");
    assert.match(page, /class="page screen-processing"/);
    const { attempts } = await checkouts.readCheckout(checkout.id);
    assert.deepEqual(attempts.map(({ method, status }) => `${method} ${status}`), ["gopay open"]);
    const cancelled = await checkouts.post(`/checkouts/${checkout.id}/cancel/`);
    assert.equal(cancelled.status, 400, await cancelled.text());
    const [transaction, ...more] = await checkouts.transactionsOf(checkout);
    assert.deepEqual([transaction!.transaction_status, more], ["pending", []]);
    assert.equal((await report(checkouts, checkout, 1, "settlement")).status, "paid");
  }
});

Deno.test("checkout: if a closed attempt was paid after all, the open one is closed", async () => {
  await using checkouts = await openRelayedCheckouts();
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "gopay");
  await checkouts.choose(checkout, "bca_va");
  const { status, payment, attempts, extra_payment_id } = await report(
    checkouts,
    checkout,
    1,
    "settlement",
  );
  assert.deepEqual([status, payment?.order_id], ["paid", checkout.order_id]);
  assert.deepEqual(attempts.map(({ status }) => status), ["closed", "closed"]);
  assert.equal(extra_payment_id, null);
  const [, second] = await checkouts.transactionsOf(checkout);
  assert.equal(second!.transaction_status, "expire");
  assert.deepEqual(await checkouts.events(checkout.id), ["checkout_completed"]);
});

Deno.test("checkout: if two attempts were paid, the first pays it, the other is named, and nothing is refunded", async () => {
  await using checkouts = await openRelayedCheckouts({ databaseUrl: await createDatabase() });
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "gopay");
  await checkouts.choose(checkout, "bca_va");
  const paid = await report(checkouts, checkout, 2, "settlement");
  const [first, second] = await checkouts.paymentsOf(checkout);
  assert.deepEqual([paid.status, paid.payment_id], ["paid", second!.id]);
  const { payment_id, extra_payment_id } = await report(checkouts, checkout, 1, "settlement");
  assert.deepEqual([payment_id, extra_payment_id], [second!.id, first!.id]);
  for (const { id } of [first!, second!]) {
    const { transaction_status, refund_amount } = await checkouts.read(id);
    assert.deepEqual([transaction_status, refund_amount], ["settlement", "0.00"]);
  }
  assert.deepEqual(await checkouts.events(checkout.id), ["checkout_completed"]);
  const staff = await checkouts.app.createKey({ userId: "carol", isStaff: true });
  const state = await (await checkouts.get("/status/", staff)).json();
  assert.equal(state.checkouts.paid_twice, 1);
});

Deno.test("cancelled checkout: a payment at the last moment makes it paid and late", async () => {
  await using checkouts = await openRelayedCheckouts();
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "bca_va");
  assert.equal((await checkouts.post(`/checkouts/${checkout.id}/cancel/`)).status, 200);
  const { status, is_late } = await report(checkouts, checkout, 1, "settlement");
  assert.deepEqual([status, is_late], ["paid", true]);
  const names = await checkouts.events(checkout.id);
  assert.deepEqual(names, ["checkout_cancelled", "checkout_completed"]);
});

Deno.test("timeline of a checkout: has its attempts' payments, who acted, and how it ended", async () => {
  await using checkouts = await openRelayedCheckouts();
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "gopay");
  await checkouts.choose(checkout, "bca_va");
  await report(checkouts, checkout, 2, "settlement");
  const staff = await checkouts.app.createKey({ userId: "carol", isStaff: true });
  const timeline = await checkouts.get(`/timelines/checkouts/${checkout.id}/`, staff);
  const { resource, entries } = await timeline.json();
  assert.equal(resource, "checkout");
  const events = entries.flatMap(({ event }: Json) => event?.name ?? event ?? []);
  assert.ok(events.includes("checkout_completed"), JSON.stringify(entries).slice(0, 2_000));
  const payments = await checkouts.paymentsOf(checkout);
  const named = new Set(entries.map(({ payment_id }: Json) => payment_id));
  for (const { id } of payments) assert.ok(named.has(id), id);
  assert.ok(JSON.stringify(entries).includes(`checkout:${checkout.id}`), "the customer acted");
  assert.ok(!JSON.stringify(entries).includes("/pay/"), "it has no link");
});

Deno.test("attempt: ends with the checkout, and a method that needs more time is not offered", async () => {
  const { now, advance } = manualClock();
  await using checkouts = await openCheckouts({ now });
  const expires_at = new Date(now() + HOUR_MS).toISOString();
  const checkout = await checkouts.create({ expires_at, enabled_payments: ["bca_va", "ovo"] });
  await checkouts.choose(checkout, "bca_va");
  const [payment] = await checkouts.paymentsOf(checkout);
  const { expiry_time } = await checkouts.read(payment!.id);
  // The gateway counts from its own time, which this clock does not follow.
  const difference = new Date(expiry_time!).getTime() - new Date(expires_at).getTime();
  assert.ok(Math.abs(difference) < HOUR_MS / 4, expiry_time!);

  const other = await checkouts.create({ expires_at, enabled_payments: ["bca_va", "ovo"] });
  assert.deepEqual(await offered(checkouts, other), ["bca_va", "ovo"]);
  // A payment with OVO takes up to a minute, and the gateway wants at least 20 s for an account.
  advance(HOUR_MS - 90_000);
  assert.deepEqual(await offered(checkouts, other), ["bca_va"]);
  advance(60_000);
  assert.deepEqual(await offered(checkouts, other), []);
});
