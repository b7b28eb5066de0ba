import { z } from "@hono/zod-openapi";
import assert from "node:assert/strict";
import { PaymentSummarySchema } from "../../core/payments/schema.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { CHALLENGED_CARD, type Json } from "../support/gateway/sandbox.ts";
import { chargeRequest, openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const Page = z.array(PaymentSummarySchema);

interface Query {
  [name: string]: string | string[] | undefined;
}

function searchOf(query: Query): URLSearchParams {
  const search = new URLSearchParams();
  for (const [name, values] of Object.entries(query)) {
    for (const value of [values ?? []].flat()) search.append(name, value);
  }
  return search;
}

/** The ids of the payments on all pages, and `Search-Limit` of each page. */
async function readPages(
  payments: TestPayments,
  query: Query,
  key?: string,
): Promise<{ ids: string[]; limits: (string | null)[] }> {
  const ids: string[] = [];
  const limits = [];
  for (let next: string | null = `/payments/?${searchOf(query)}`; next !== null;) {
    const response: Response = await payments.get(next, key);
    assert.equal(response.status, 200, await response.clone().text());
    ids.push(...Page.parse(await response.json()).map(({ id }) => id));
    limits.push(response.headers.get("search-limit"));
    next = response.headers.get("link")?.match(/^<([^<>\s]+)>; rel="next"$/)?.[1] ?? null;
  }
  return { ids, limits };
}

/** The ids of the payments on all pages. */
async function find(payments: TestPayments, query: Query, key?: string): Promise<string[]> {
  return (await readPages(payments, query, key)).ids;
}

async function errorsOf(payments: TestPayments, query: Query): Promise<string[]> {
  const response = await payments.get(`/payments/?${searchOf(query)}`);
  const { errors } = await assertProblem(response, 400, "validation_error");
  return errors!.map(({ field, message }) => `${field}: ${message}`);
}

const customer = (more: Json) => ({ customer_details: { first_name: "Budi", ...more } });

Deno.test("payment list: finds the payments of a customer by email in upper or lower case, and by phone number in any format", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  const bob = await payments.app.createKey({ userId: "bob" });
  const staff = await payments.app.createKey({ userId: "carol", isStaff: true });
  const [first, second, third] = [
    await payments.charge("gopay", customer({ email: "Budi@Shop.example", phone: "+62 812-3456" })),
    await payments.charge("qris", customer({ email: "budi@shop.example", phone: "0812 3456" })),
    await payments.charge("gopay", customer({ email: "siti@shop.example", phone: "+1 555 0100" })),
  ];
  const both = [second.id, first.id];
  for (const customer_email of ["budi@shop.example", "BUDI@shop.EXAMPLE"]) {
    assert.deepEqual(await find(payments, { customer_email }), both);
    assert.deepEqual(await find(payments, { customer_email, limit: "1" }), both);
    assert.deepEqual(await find(payments, { customer_email }, staff), both);
    assert.deepEqual(await find(payments, { customer_email }, bob), []);
  }
  for (const phone of ["+628123456", "08123456", "628123456", "0062 812 3456", "+62 (0)812-3456"]) {
    assert.deepEqual(await find(payments, { customer_phone: phone }), both, phone);
  }
  assert.deepEqual(await find(payments, { customer_phone: "+15550100" }), [third.id]);
  assert.deepEqual(await find(payments, { customer_phone: "8123456" }), []);
  assert.deepEqual(
    await find(payments, { customer_email: "budi@shop.example", payment_type: "qris" }),
    [second.id],
  );
  assert.deepEqual(
    await find(payments, { customer_email: "siti@shop.example", customer_phone: "08123456" }),
    [],
  );
});

Deno.test("payment list: finds a payment by transaction id and by virtual account number", async () => {
  await using payments = await openPayments();
  const bob = await payments.app.createKey({ userId: "bob" });
  const { id, transaction_id, va_number } = await payments.charge("bca");
  await payments.charge("bca");
  assert.ok(va_number);
  const spaced = va_number.replace(/(\d{4})/g, "$1 ");
  for (const query of [{ transaction_id: transaction_id! }, { va_number }, { va_number: spaced }]) {
    assert.deepEqual(await find(payments, query), [id]);
    assert.deepEqual(await find(payments, query, bob), []);
  }
  assert.deepEqual(await find(payments, { va_number: va_number.slice(1) }), []);
  assert.deepEqual(await find(payments, { va_number, status: "settlement" }), []);
});

Deno.test("payment list: finds payments by several statuses and several types, and the next link keeps them", async () => {
  await using payments = await openPayments();
  const gopay = await payments.charge("gopay");
  const qris = await payments.charge("qris");
  const bca = await payments.charge("bca");
  const cancelled = await payments.charge("qris");
  assert.equal((await payments.post(`/payments/${cancelled.id}/cancel/`)).status, 200);
  const ids = async (query: Query) => {
    const all = await find(payments, query);
    assert.deepEqual(await find(payments, { ...query, limit: "1" }), all);
    return all;
  };
  assert.deepEqual(await ids({ status: ["pending", "cancel", "deny"] }), [
    cancelled.id,
    bca.id,
    qris.id,
    gopay.id,
  ]);
  assert.deepEqual(
    await ids({ payment_type: ["qris", "gopay"], status: ["pending", "settlement"] }),
    [
      qris.id,
      gopay.id,
    ],
  );
  assert.deepEqual(await ids({ payment_type: ["bank_transfer", "gopay", "gopay"] }), [
    bca.id,
    gopay.id,
  ]);
  await runSql(
    payments.databaseUrl,
    `update gateway.payments set payment_type = 'bca_klikpay' where id = '${bca.id}'`,
  );
  assert.deepEqual(
    await ids({ payment_type: "bca_klikpay" }),
    [bca.id],
    "a type that the service itself does not charge",
  );
});

Deno.test("payment list: created_from is inclusive, created_to is exclusive, and both combine with other filters", async () => {
  await using payments = await openPayments();
  const charged = [];
  for (let count = 0; count < 4; count++) charged.unshift(await payments.charge("gopay"));
  const [newest, third, second, oldest] = charged as [Json, Json, Json, Json];
  assert.equal(new Set(charged.map(({ created_at }) => created_at)).size, 4);
  const range = { created_from: second.created_at, created_to: newest.created_at };
  assert.deepEqual(await find(payments, range), [third.id, second.id]);
  assert.deepEqual(await find(payments, { ...range, limit: "1" }), [third.id, second.id]);
  assert.deepEqual(await find(payments, { ...range, status: "pending" }), [third.id, second.id]);
  assert.deepEqual(await find(payments, { ...range, status: "settlement" }), []);
  assert.deepEqual(await find(payments, { created_to: second.created_at }), [oldest.id]);
  assert.deepEqual(await find(payments, { created_from: newest.created_at }), [newest.id]);
  assert.deepEqual(
    await find(payments, { created_from: third.created_at, order_id: second.order_id }),
    [],
  );
  assert.deepEqual(
    await find(payments, { created_from: "1960-01-01T00:00:00Z" }).then((all) => all.length),
    4,
  );
  const local = third.created_at.replace("Z", "+00:00");
  const response = await payments.get(
    `/payments/?created_from=${local}&created_to=${newest.created_at}`,
  );
  assert.deepEqual(
    (await response.json()).map(({ id }: Json) => id),
    [third.id],
    "a plus sign that is not encoded",
  );
});

Deno.test("payment list: settled_from and settled_to sort by settlement time, and pages continue in that order", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  const staff = await payments.app.createKey({ userId: "carol", isStaff: true });
  const ids: string[] = [];
  for (let count = 0; count < 5; count++) ids.push((await payments.paid("gopay")).id);
  const unpaid = await payments.charge("gopay");
  const days = [3, 1, 2, 2, 4];
  for (const [index, id] of ids.entries()) {
    await runSql(
      payments.databaseUrl,
      `update gateway.payments set settlement_time = '2026-03-0${
        days[index]
      }T10:00:00Z' where id = '${id}'`,
    );
  }
  const [day3, day1, older2, newer2, day4] = ids;
  const range = { settled_from: "2026-03-02T10:00:00Z", settled_to: "2026-03-04T10:00:00Z" };
  for (const key of [payments.key, staff]) {
    assert.deepEqual(await find(payments, range, key), [day3, newer2, older2]);
    assert.deepEqual(await find(payments, { ...range, limit: "1" }, key), [day3, newer2, older2]);
    assert.deepEqual(
      await find(payments, { settled_from: "2026-03-01T00:00:00Z", limit: "2" }, key),
      [
        day4,
        day3,
        newer2,
        older2,
        day1,
      ],
    );
    assert.deepEqual(await find(payments, { settled_to: "2026-03-02T00:00:00Z" }, key), [day1]);
    assert.deepEqual(
      await find(payments, { ...range, status: "settlement", payment_type: "gopay" }, key),
      [
        day3,
        newer2,
        older2,
      ],
    );
  }
  const bob = await payments.app.createKey({ userId: "bob" });
  assert.deepEqual(await find(payments, range, bob), []);
  assert.equal((await find(payments, {})).includes(unpaid.id), true);
  const response = await payments.get(`/payments/?limit=1&${searchOf(range)}`);
  await response.body?.cancel();
  const link = response.headers.get("link")!.match(/<([^>]+)>/)![1]!;
  const cursor = new URL(link, "http://localhost").searchParams.get("cursor")!;
  assert.deepEqual(await errorsOf(payments, { cursor }), [
    "cursor: belongs to a list with other filters; start without it",
  ]);
});

Deno.test("payment list: fraud_status=challenge finds payments that wait for a review, but not reviewed ones", async () => {
  await using payments = await openPayments();
  const staff = await payments.app.createKey({ userId: "carol", isStaff: true });
  const accepted = await payments.charge("card");
  const request = await chargeRequest(payments.sandbox, "card", CHALLENGED_CARD);
  const response = await payments.post("/charge/", request);
  const challenged = await response.json();
  assert.equal(challenged.fraud_status, "challenge", JSON.stringify(challenged));
  for (const key of [payments.key, staff]) {
    assert.deepEqual(await find(payments, { fraud_status: "challenge" }, key), [challenged.id]);
    assert.deepEqual(await find(payments, { fraud_status: "accept" }, key), [accepted.id]);
    assert.deepEqual(await find(payments, { fraud_status: "challenge", status: "capture" }, key), [
      challenged.id,
    ]);
    assert.deepEqual(await find(payments, { fraud_status: "challenge", status: "deny" }, key), []);
    assert.deepEqual(await find(payments, { fraud_status: "deny" }, key), []);
  }
  const approved = await payments.post(`/reviews/${challenged.id}/approve/`, undefined, {}, staff);
  assert.equal(approved.status, 200, await approved.text());
  assert.deepEqual(await find(payments, { fraud_status: "challenge" }), []);
});

Deno.test("payment list: min_amount and max_amount are inclusive", async () => {
  await using payments = await openPayments();
  const byAmount = new Map<number, string>();
  for (const gross_amount of [10_000, 20_000, 30_000]) {
    const email = "budi@shop.example";
    const { id } = await payments.charge("gopay", {
      gross_amount,
      item_details: undefined,
      ...customer({ email }),
    });
    byAmount.set(gross_amount, id);
  }
  const [low, middle, high] = [...byAmount.values()];
  const now = Date.now();
  const created = {
    created_from: new Date(now - 86_400_000).toJSON(),
    created_to: new Date(now + 86_400_000).toJSON(),
  };
  for (const bound of [created, { customer_email: "budi@shop.example" }]) {
    assert.deepEqual(await find(payments, { ...bound, min_amount: "20000" }), [high, middle]);
    assert.deepEqual(await find(payments, { ...bound, max_amount: "20000" }), [middle, low]);
    assert.deepEqual(await find(payments, { ...bound, min_amount: "20000", max_amount: "20000" }), [
      middle,
    ]);
    assert.deepEqual(
      await find(payments, { ...bound, min_amount: "20001", max_amount: "29999" }),
      [],
    );
    assert.deepEqual(
      await find(payments, {
        ...bound,
        min_amount: "10000",
        payment_type: "gopay",
        status: "pending",
      }),
      [high, middle, low],
    );
  }
});

Deno.test("payment list: min_amount is rejected without a customer or a range of at most 31 days", async () => {
  await using payments = await openPayments();
  const message =
    "min_amount: needs created_from, at most 31 days before created_to (default: now), " +
    "or a filter by customer, order, transaction, virtual account, invoice or subscription";
  const min_amount = "1000";
  assert.deepEqual(await errorsOf(payments, { min_amount }), [message]);
  assert.deepEqual(await errorsOf(payments, { min_amount, status: "pending" }), [message]);
  assert.deepEqual(await errorsOf(payments, { min_amount, created_to: "2026-02-01T00:00:00Z" }), [
    message,
  ]);
  assert.deepEqual(await errorsOf(payments, { min_amount, created_from: "2020-02-01T00:00:00Z" }), [
    message,
  ]);
  const month = { created_from: "2026-01-01T00:00:00Z", created_to: "2026-02-01T00:00:00Z" };
  assert.deepEqual(await find(payments, { min_amount, ...month }), []);
  assert.deepEqual(
    await errorsOf(payments, { min_amount, ...month, created_to: "2026-02-01T00:00:00.001Z" }),
    [message],
  );
});

Deno.test("payment list: user_id shows staff and viewers the payments of one user, and is forbidden for users", async () => {
  await using payments = await openPayments();
  const { app } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  const viewer = await app.createKey({ userId: "dave", isViewer: true });
  const alices = await payments.charge("gopay");
  const bobs = await payments.post(
    "/charge/",
    { payment_type: "qris", gross_amount: 1_000 },
    {},
    bob,
  );
  const { id } = await bobs.json();
  for (const key of [staff, viewer]) {
    assert.deepEqual(await find(payments, { user_id: "bob" }, key), [id]);
    assert.deepEqual(await find(payments, { user_id: "bob", q: id.slice(0, 36) }, key), [id]);
    assert.deepEqual(await find(payments, { user_id: "alice", status: "pending" }, key), [
      alices.id,
    ]);
    assert.deepEqual(await find(payments, { user_id: "unknown-user" }, key), []);
    const response = await payments.get("/payments/", key);
    const users = (await response.json()).map(({ user_id }: Json) => user_id);
    assert.deepEqual(users, ["bob", "alice"]);
  }
  assert.deepEqual(await find(payments, { user_id: "alice" }), [alices.id], "the caller's own id");
  for (const query of [{ user_id: "bob" }, { user_id: "bob", q: "order" }]) {
    await assertProblem(await payments.get(`/payments/?${searchOf(query)}`), 403, "forbidden");
  }
  const own = await (await payments.get("/payments/")).json();
  assert.equal("user_id" in own[0], false, "a user sees no user ids");
});

Deno.test("payment list: a summary has the amounts, the settlement time and the customer's first name", async () => {
  await using payments = await openPayments();
  const { id } = await payments.paid("gopay", customer({ email: "budi@shop.example" }));
  assert.equal((await payments.post(`/payments/${id}/refund/`, { amount: 4_000 })).status, 200);
  const payment = await payments.read(id);
  const [summary] = await (await payments.get("/payments/")).json();
  assert.equal(summary.refund_amount, "4000.00");
  assert.equal(summary.net_amount, "40000.00");
  assert.equal(summary.customer_first_name, "Budi");
  assert.ok(summary.settlement_time);
  for (const name of ["refund_amount", "net_amount", "settlement_time", "fraud_status"] as const) {
    assert.equal(summary[name], payment[name], name);
  }
});

Deno.test("payment search: finds a payment by its ids, by parts of its texts in any case, by phone in any writing and by amount, for its owner and staff, but not for another user", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  const bob = await payments.app.createKey({ userId: "bob" });
  const staff = await payments.app.createKey({ userId: "carol", isStaff: true });
  const payment = await payments.charge("bca", {
    order_id: "Invoice_2026-17",
    gross_amount: 275_000,
    item_details: undefined,
    customer_details: {
      first_name: "Budi",
      last_name: "Santoso",
      email: "Budi.S@shop.example",
      phone: "+62812-3456-789",
    },
  });
  const other = await payments.charge("gopay", { order_id: "Invoice_2026-18" });
  const both = [other.id, payment.id];
  const { id: accented } = await payments.charge("gopay", {
    order_id: "X",
    customer_details: { first_name: "ANDRÉ", last_name: "Østergård" },
  });
  const cases: Record<string, string[]> = {
    [payment.id]: [payment.id],
    [payment.id.toUpperCase().replaceAll("-", "")]: [payment.id],
    "Invoice_2026-17": [payment.id],
    "  Invoice_2026  ": both,
    "invoice_2026": both,
    "VOI": both,
    "6-1": both,
    "Invoice%2026": [],
    "Invoice-2026": [],
    "_20": both,
    [payment.transaction_id!]: [payment.id],
    [payment.transaction_id!.slice(0, -1)]: [],
    "budi.s@SHOP.example": [payment.id],
    "@shop": [payment.id],
    "udi SANT": [payment.id],
    "santoso": [payment.id],
    "andré": [accented],
    "ANDRÉ": [accented],
    "Ndré øSTERGÅRD": [accented],
    "andre": [],
    "andrè": [],
    "0812-3456-789": [payment.id],
    "0812 3456 789": [payment.id],
    "08123456789": [payment.id],
    "+62 812 3456 789": [payment.id],
    "62812.3456.789": [payment.id],
    "(0062) 812 3456789": [payment.id],
    "8123456789": [payment.id],
    "0812345678": [],
    [payment.va_number!]: [payment.id],
    "275000": [payment.id],
    "275.000": [payment.id],
    "Rp 275.000": [payment.id],
    "rp275.000,00": [payment.id],
    "275001": [],
    "---": [],
  };
  const search = async (key: string | undefined) => {
    for (const [q, expected] of Object.entries(cases)) {
      assert.deepEqual(await find(payments, { q }, key), expected, q);
    }
  };
  await search(undefined);
  await search(staff);
  for (const q of Object.keys(cases)) assert.deepEqual(await find(payments, { q }, bob), [], q);
  // Payments that are older than those that every search reads are found by the indexes.
  await insertOrders(payments, "newer/", 1_050);
  await search(staff);
  for (const q of Object.keys(cases)) {
    assert.deepEqual(await find(payments, { q, user_id: "bob" }, staff), [], q);
  }
});

Deno.test("payment search: says what was searched, also if nothing is found", async () => {
  await using payments = await openPayments();
  const cases: Record<string, string> = {
    "nosuchtext": "order_id, transaction_id, customer_email, customer_name",
    "99887766":
      "order_id, transaction_id, customer_email, customer_name, customer_phone, va_number, gross_amount",
    "9988": "order_id, transaction_id, customer_email, customer_name, customer_phone, va_number, " +
      "gross_amount, card",
    "Rp 998.877": "order_id, transaction_id, customer_email, customer_name, gross_amount",
    "+62 998 877 6655": "order_id, transaction_id, customer_email, customer_name, customer_phone",
    "0197a3c7-02b1-7f3c-8d55-1e6a9c0b4d72":
      "id, order_id, transaction_id, customer_email, customer_name",
  };
  for (const [q, fields] of Object.entries(cases)) {
    const response = await payments.get(`/payments/?${searchOf({ q })}`);
    assert.deepEqual(await response.json(), [], q);
    assert.equal(response.headers.get("search-fields"), fields);
    assert.equal(response.headers.get("search-limit"), null);
  }
  const list = await payments.get("/payments/");
  await list.body?.cancel();
  assert.equal(list.headers.get("search-fields"), null);
});

Deno.test("payment search: rejects less than 3 characters and the combination with other filters", async () => {
  await using payments = await openPayments();
  const short = ["q: must have at least 3 characters"];
  for (const q of ["ab", " ab ", "😀😀"]) {
    assert.deepEqual(await errorsOf(payments, { q }), short);
  }
  for (
    const other of [
      { status: "pending" },
      { created_from: "2026-01-01T00:00:00Z" },
      { customer_email: "budi@shop.example" },
    ]
  ) {
    const [name] = Object.keys(other);
    assert.deepEqual(await errorsOf(payments, { q: "order", ...other }), [
      `${name}: cannot be combined with q; remove one of them`,
    ]);
  }
});

const QRIS = { payment_type: "qris", gross_amount: 1_000 };

/** Inserts payments of alice; their order ids are the prefix and the numbers 1 to `count`. */
async function insertOrders(
  payments: TestPayments,
  prefix: string,
  count: number,
  { user = "alice", amount = 1_000 } = {},
): Promise<void> {
  await runSql(
    payments.databaseUrl,
    `insert into gateway.payments (id, user_id, order_id, transaction_id, payment_type, gross_amount,
       currency, transaction_status, sent_at, created_at, updated_at)
     select uuidv7(), '${user}', '${prefix}' || n, gen_random_uuid(), 'qris', ${amount}, 'IDR', 'pending',
       now(), now(), now()
     from generate_series(1, ${count}) n order by n`,
  );
}

Deno.test("payment search: lists the newest 1,000 matches on several pages, and says if there are more", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  const staff = await payments.app.createKey({ userId: "carol", isStaff: true });
  const bob = await payments.app.createKey({ userId: "bob" });
  const pagesOf = (q: string, key?: string) => readPages(payments, { q, limit: "100" }, key);
  const allLimited = Array(10).fill("1000");
  const old = await payments.post("/charge/", { ...QRIS, order_id: "many-of-bob" }, {}, bob);
  const { id: bobs } = await old.json();
  await insertOrders(payments, "many-", 999);
  const newest = await payments.charge("gopay", { order_id: "many-newest" });
  const { ids: found, limits } = await pagesOf("any-");
  assert.deepEqual(limits, Array(10).fill(null), "alice has 1,000 of them");
  assert.equal(found.length, 1_000);
  assert.deepEqual(await pagesOf("MANY-", staff), { ids: found, limits: allLimited });
  assert.equal(found[0], newest.id);
  assert.deepEqual(found, found.toSorted().toReversed());
  // The newest payments have another order id now.
  await insertOrders(payments, "other-", 1_200);
  assert.deepEqual(await pagesOf("any-"), { ids: found, limits });
  assert.deepEqual(await pagesOf("any-", staff), { ids: found, limits: allLimited });
  assert.deepEqual(await find(payments, { q: "many-newest" }, staff), [newest.id]);
  assert.deepEqual(await find(payments, { q: "many-" }, bob), [bobs], "an older payment of bob");
});

Deno.test("payment search: finds an old payment of a user with many, although more than 1,000 newer payments of others match", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  const staff = await payments.app.createKey({ userId: "carol", isStaff: true });
  const bob = await payments.app.createKey({ userId: "bob" });
  const charge = { ...QRIS, order_id: "same-of-bob", gross_amount: 7_777 };
  const { id } = await (await payments.post("/charge/", charge, {}, bob)).json();
  await insertOrders(payments, "other-", 600, { user: "bob" });
  await insertOrders(payments, "same-", 1_100, { amount: 7_777 });
  for (const q of ["7.777", "ame-"]) {
    assert.deepEqual(await find(payments, { q }, bob), [id], q);
    assert.deepEqual(await find(payments, { q, user_id: "bob" }, staff), [id], q);
  }
});

Deno.test("payment search: finds a payment by the last four digits of its card", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  const staff = await payments.app.createKey({ userId: "carol", isStaff: true });
  const bob = await payments.app.createKey({ userId: "bob" });
  const { id } = await payments.charge("card");
  const setCard = (number: string) =>
    runSql(
      payments.databaseUrl,
      `update gateway.payments set card = '{"masked_number":"${number}"}' where id = '${id}'`,
    );
  const isFound = async (q: string, key?: string) =>
    (await find(payments, { q }, key)).includes(id);
  await setCard("48111111-7904");
  // The second time, the payment is older than those that every search reads.
  for (const inserted of [0, 600]) {
    await insertOrders(payments, "newer", inserted);
    for (const key of [undefined, staff]) {
      assert.equal(await isFound("7904", key), true);
      assert.equal(await isFound("**** 7904", key), true);
      assert.equal(await isFound("7905", key), false);
    }
    assert.equal(await isFound("7904", bob), false);
  }
  await setCard("48111111-7905");
  assert.deepEqual([await isFound("7904", staff), await isFound("7905", staff)], [false, true]);
  const count = "select from gateway.payment_search_keys where kind = 'c'";
  assert.equal((await runSql(payments.databaseUrl, count)).length, 1);
  await runSql(payments.databaseUrl, `delete from gateway.payments where id = '${id}'`);
  assert.equal((await runSql(payments.databaseUrl, count)).length, 0);
});
