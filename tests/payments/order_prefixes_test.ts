import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createDatabase } from "../support/database/database.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { invoiceDue } from "../support/records/invoices.ts";
import { openPayments, parsePayment, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const databaseUrl = await createDatabase();

interface Setup extends TestPayments {
  staff: string;
  /** Creates a key as staff does. */
  createKey(input: Json): Promise<Response>;
  /** Creates a key with this prefix for a new user. */
  keyWith(order_prefix: string): Promise<string>;
}

async function openPrefixes(): Promise<Setup> {
  const payments = await openPayments({ databaseUrl });
  const staff = await payments.app.createKey({ userId: "ops", isStaff: true });
  const createKey = (input: Json) => payments.post("/keys/", input, {}, staff);
  return {
    ...payments,
    staff,
    createKey,
    async keyWith(order_prefix) {
      const response = await createKey({ user_id: `user ${randomUUID()}`, order_prefix });
      assert.equal(response.status, 201, await response.clone().text());
      return (await response.json()).key;
    },
  };
}

/** A prefix that no other test uses. */
const newPrefix = () => `p${randomUUID().slice(0, 6)}-`;

const chargeOf = (order_id?: string) => ({ payment_type: "gopay", gross_amount: 44_000, order_id });

Deno.test("order prefix: the caller's order ids begin with it, sent or generated", async () => {
  await using setup = await openPrefixes();
  const prefix = newPrefix();
  const key = await setup.keyWith(prefix);
  const charge = (body: Json, headers = {}) => setup.post("/charge/", body, headers, key);
  const generated = await parsePayment(await charge(chargeOf()), 201);
  assert.equal(generated.order_id, `${prefix}${generated.id}-p`);
  const sent = await parsePayment(await charge(chargeOf(`${prefix}1`)), 201);
  assert.equal(sent.order_id, `${prefix}1`);
  const refusals = [
    await charge(chargeOf("1")),
    await charge(chargeOf("1"), { Prefer: "respond-async" }),
    await setup.post("/invoices/", { ...invoiceDue(Date.now()), order_id: "1" }, {}, key),
  ];
  for (const refusal of refusals) {
    const { errors } = await assertProblem(refusal, 400, "validation_error");
    const message = `must begin with ${prefix}, the prefix of your API key`;
    assert.deepEqual(errors, [{ field: "order_id", message }]);
  }
  const invoice = await setup.post("/invoices/", invoiceDue(Date.now()), {}, key);
  assert.equal(invoice.status, 201, await invoice.clone().text());
  const { order_id } = await invoice.json();
  assert.ok(order_id.startsWith(prefix) && order_id.length <= 36, order_id);
});

Deno.test("order prefix: other users get duplicate_order for it, whether the order id exists or not", async () => {
  await using setup = await openPrefixes();
  const { post } = setup;
  const prefix = newPrefix();
  const key = await setup.keyWith(prefix);
  await parsePayment(await post("/charge/", chargeOf(`${prefix}1`), {}, key), 201);
  const problemOf = async (order_id: string, body: Json, path = "/charge/") => {
    const { instance: _, detail, ...rest } = await assertProblem(
      await post(path, { ...body, order_id }),
      400,
      "duplicate_order",
    );
    return { ...rest, order_id: null, detail: detail!.replaceAll(order_id, "…") };
  };
  const mine = randomUUID();
  await parsePayment(await post("/charge/", chargeOf(mine)), 201);
  const expected = await problemOf(mine, chargeOf());
  assert.deepEqual(await problemOf(`${prefix}1`, chargeOf()), expected);
  assert.deepEqual(await problemOf(`${prefix}2`, chargeOf()), expected);
  assert.deepEqual(await problemOf(`${prefix}2`, invoiceDue(Date.now()), "/invoices/"), expected);
  // The owner of the prefix is not blocked.
  await parsePayment(await post("/charge/", chargeOf(`${prefix}2`), {}, key), 201);
});

Deno.test("order prefix: is reserved until all keys with it are revoked", async () => {
  await using setup = await openPrefixes();
  const order_prefix = newPrefix();
  const owner = { user_id: `user ${randomUUID()}`, order_prefix };
  const prefixes: string[] = [];
  for (const _key of [1, 2]) {
    const created = await setup.createKey(owner);
    assert.equal(created.status, 201, await created.clone().text());
    prefixes.push((await created.json()).prefix);
  }
  // Overlapping prefixes of another user.
  for (const overlapping of [order_prefix, order_prefix.slice(0, -1), `${order_prefix}x`]) {
    const refused = await setup.createKey({ user_id: "other", order_prefix: overlapping });
    const { errors } = await assertProblem(refused, 400, "validation_error");
    assert.deepEqual(errors!.map(({ field }) => field), ["order_prefix"]);
  }
  const charge = () => setup.post("/charge/", chargeOf(`${order_prefix}1`));
  for (const prefix of prefixes) {
    await assertProblem(await charge(), 400, "duplicate_order");
    await setup.app.as(setup.staff, `/keys/${prefix}/`, { method: "DELETE" });
  }
  await parsePayment(await charge(), 201);
});

Deno.test("order prefix: of concurrent keys of two users with the same prefix, one is created", async () => {
  await using setup = await openPrefixes();
  const order_prefix = newPrefix();
  const users = Array.from({ length: 6 }, () => `user ${randomUUID()}`);
  const answers = await Promise.all(
    users.map((user_id) => setup.createKey({ user_id, order_prefix })),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 400, 400, 400, 400, 400]);
});

Deno.test("order prefix: must begin with a letter, have 3 to 9 characters, and be for a user", async () => {
  await using setup = await openPrefixes();
  for (const order_prefix of ["ab", "abcdefghij", "0ab", "-ab", "a b", "a/b", "ab\u00e9"]) {
    const refused = await setup.createKey({ user_id: "shop", order_prefix });
    const { errors } = await assertProblem(refused, 400, "validation_error");
    assert.deepEqual(errors!.map(({ field }) => field), ["order_prefix"], order_prefix);
  }
  const viewer = { user_id: "shop", role: "viewer", order_prefix: newPrefix() };
  await assertProblem(await setup.createKey(viewer), 400, "validation_error");
});
