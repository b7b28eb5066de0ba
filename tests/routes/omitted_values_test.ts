import assert from "node:assert/strict";
import type { Json } from "../support/gateway/sandbox.ts";
import { openPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const ID = "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5";

Deno.test("item_details: an empty list counts as omitted in charges and checkouts", async () => {
  await using payments = await openPayments({ env: { PUBLIC_URL: "https://pay.shop.example" } });
  const charged = await payments.post("/charge/", {
    payment_type: "qris",
    gross_amount: 1000,
    item_details: [],
  });
  assert.equal(charged.status, 201, await charged.clone().text());
  const { items, order_id } = await charged.json();
  assert.deepEqual(items, []);
  const [transaction] = await payments.transactions(order_id);
  assert.ok(transaction, "the gateway got the charge");
  const checkout = await payments.post("/checkouts/", { gross_amount: 1000, item_details: [] });
  assert.equal(checkout.status, 201, await checkout.clone().text());
});

Deno.test("item_details: an empty list is rejected where the lender needs items", async () => {
  await using payments = await openPayments();
  const response = await payments.post("/charge/", {
    payment_type: "akulaku",
    gross_amount: 1000,
    item_details: [],
    customer_details: { first_name: "Budi", email: "budi@example.com", phone: "+62812345678" },
  });
  const { errors } = await assertProblem(response, 400, "validation_error");
  assert.deepEqual(errors, [{ field: "item_details", message: "must not be empty" }]);
});

Deno.test("the body null: counts as omitted by every action", async () => {
  await using payments = await openPayments();
  const { app } = payments;
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const actions = Object.entries(app.document().paths!)
    .filter(([path, methods]) => {
      const post: Json | undefined = (methods as Json).post;
      return path.includes("{pk}") && post && post.requestBody?.required !== true;
    }).map(([path]) => path);
  assert.ok(actions.length >= 8, `${actions}`);
  for (const action of actions) {
    const path = action.replace("{action_name}", "disable").replaceAll(/\{\w+\}/g, ID);
    for (const body of ["null", " null\n"]) {
      const headers = { "Content-Type": "application/json" };
      const response = await app.as(staff, path, { method: "POST", body, headers });
      await assertProblem(response, 404, "not_found");
    }
  }
  const paid = await payments.paid("gopay");
  const refund = await payments.post(`/payments/${paid.id}/refund/`, null);
  assert.equal(refund.status, 200, await refund.clone().text());
  assert.equal((await refund.json()).payment.transaction_status, "refund");
});

Deno.test("due_date: a date with a time gets an error that names the format", async () => {
  await using payments = await openPayments();
  const invoice = {
    customer_name: "Budi",
    items: [{ description: "Tea", price: 1000, quantity: 1 }],
  };
  for (
    const due_date of [
      "2099-12-31T10:00:00+07:00",
      "2099-12-31 10:00:00 +0700",
      "2099-12-31T00:00:00.000Z",
      "31.12.2099",
      "2099-02-30",
    ]
  ) {
    const response = await payments.post("/invoices/", { ...invoice, due_date });
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.deepEqual(errors, [
      { field: "due_date", message: "must be a date such as 2026-12-31" },
    ], due_date);
  }
});
