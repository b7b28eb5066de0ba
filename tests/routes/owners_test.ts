import assert from "node:assert/strict";
import type { Json } from "../support/gateway/sandbox.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const INVOICE = {
  customer_name: "Budi",
  due_date: "2099-12-31",
  items: [{ description: "Tea", price: 1000, quantity: 1 }],
};

const SUBSCRIPTION = {
  name: "coffee-club",
  amount: 1000,
  payment_type: "credit_card",
  token: "481111xDUgxnnredRMAXuklkvAON1114",
  interval: 1,
  interval_unit: "month",
};

const CHARGE = { payment_type: "qris", gross_amount: 1000 };

/** One record of alice and one of bob, by the path of their list. */
async function createRecords(payments: TestPayments, bob: string) {
  const created: Record<string, { alices: string; bobs: string }> = {};
  for (
    const [list, path, body] of [
      ["/payments/", "/charge/", CHARGE],
      ["/invoices/", "/invoices/", INVOICE],
      ["/subscriptions/", "/subscriptions/", SUBSCRIPTION],
    ] as const
  ) {
    const create = async (key?: string) => {
      const response = await payments.post(path, body, {}, key);
      assert.equal(response.status, 201, await response.clone().text());
      return (await response.json()).id as string;
    };
    created[list] = { alices: await create(), bobs: await create(bob) };
  }
  return created;
}

Deno.test("user_id of payments, invoices and subscriptions: staff and viewers see it and filter by it", async () => {
  await using payments = await openPayments();
  const { app } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const viewer = await app.createKey({ userId: "audit", isViewer: true });
  const records = await createRecords(payments, bob);
  for (const [list, { alices, bobs }] of Object.entries(records)) {
    for (const key of [staff, viewer]) {
      const read: Json = await (await payments.get(`${list}${bobs}/`, key)).json();
      assert.equal(read.user_id, "bob", `${list} of one`);
      const all: Json[] = await (await payments.get(list, key)).json();
      const owners = Object.fromEntries(all.map(({ id, user_id }) => [id, user_id]));
      assert.deepEqual(owners, { [alices]: "alice", [bobs]: "bob" }, list);
      const filtered: Json[] = await (await payments.get(`${list}?user_id=bob`, key)).json();
      assert.deepEqual(filtered.map(({ id }) => id), [bobs], `${list}?user_id`);
    }
    const own: Json = await (await payments.get(`${list}${bobs}/`, bob)).json();
    assert.ok(!("user_id" in own), `${list} of one, for its owner`);
    const [listed]: Json[] = await (await payments.get(`${list}?user_id=bob`, bob)).json();
    assert.ok(listed!.id === bobs && !("user_id" in listed!), `${list} for its owner`);
    await assertProblem(await payments.get(`${list}?user_id=alice`, bob), 403, "forbidden");
  }
  const file = await (await payments.get("/exports/invoices/?user_id=bob", staff)).text();
  assert.deepEqual(file.trim().split("\r\n").slice(1).map((line) => line.slice(0, 36)), [
    records["/invoices/"]!.bobs,
  ]);
  const events: Json[] = await (await payments.get("/events/", staff)).json();
  assert.ok(events.length > 0 && events.every(({ data }) => !("user_id" in data)), "events");
});
