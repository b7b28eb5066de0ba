import assert from "node:assert/strict";
import { fc } from "../support/fast_check.ts";
import { buildNotification } from "../support/gateway/notifications.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const ID = "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5";

/** The operations in the OpenAPI document that require a credential, with ids filled in. */
function protectedOperations({ app }: TestPayments): { method: string; path: string }[] {
  return Object.entries(app.document().paths!).flatMap(([path, methods]) =>
    Object.entries<Json>(methods!).filter(([, { security }]) => security?.length !== 0)
      .map(([method]) => ({
        method: method.toUpperCase(),
        path: path.replace("{action_name}", "disable").replaceAll(/\{\w+\}/g, ID),
      }))
  );
}

/** The errors of a rejected request, as `field: message`. */
async function errorsOf(response: Response): Promise<string[]> {
  const { errors } = await assertProblem(response, 400, "validation_error");
  return errors!.map(({ field, message }) => `${field}: ${message}`);
}

Deno.test("an unknown query parameter: is rejected by every operation that needs a credential", async () => {
  await using payments = await openPayments();
  const key = await payments.app.createKey({ isStaff: true });
  const operations = protectedOperations(payments);
  assert.ok(operations.length > 30, `${operations.length} operations`);
  for (const { method, path } of operations) {
    const headers = { Authorization: `Bearer ${key}` };
    const response = await payments.app.request(`${path}?nosuch=1`, { method, headers });
    const [error] = await errorsOf(response);
    assert.match(error!, /^nosuch: is not known; remove it/, `${method} ${path}`);
  }
});

Deno.test("an unknown query parameter: the error names the nearest known one", async () => {
  await using payments = await openPayments();
  const nearest = async (query: string) =>
    await errorsOf(await payments.get(`/payments/?${query}`));
  assert.deepEqual(await nearest("ordr_id=x&limt=5"), [
    "ordr_id: is not known; did you mean order_id?",
    "limt: is not known; did you mean limit?",
  ]);
  assert.deepEqual(await nearest("Status=settlement"), [
    "Status: is not known; did you mean status?",
  ]);
  // A Cyrillic letter that looks like the Latin one, and a percent-encoded misspelling.
  assert.deepEqual(await nearest("%D1%95tatus=x"), ["ѕtatus: is not known; did you mean status?"]);
  assert.deepEqual(await nearest("%6Frder_idd=x"), [
    "order_idd: is not known; did you mean order_id?",
  ]);
  assert.match(
    (await nearest("color=red"))[0]!,
    /^color: is not known; remove it$/,
  );
});

Deno.test("a query parameter that takes one value: is rejected if it is repeated", async () => {
  await using payments = await openPayments();
  const repeated = async (query: string) =>
    await errorsOf(await payments.get(`/payments/?${query}`));
  assert.deepEqual(await repeated("limit=5&limit=6"), ["limit: must be sent only once"]);
  assert.deepEqual(await repeated("order_id=a&order%5Fid=a"), ["order_id: must be sent only once"]);
});

Deno.test("a query with thousands of parameters: gets a short error", async () => {
  await using payments = await openPayments();
  const names = Array.from({ length: 2000 }, (_, index) => `x${index}=1`);
  assert.equal((await errorsOf(await payments.get(`/payments/?${names.join("&")}`))).length, 20);
  const [long] = await errorsOf(await payments.get(`/payments/?${"n".repeat(5000)}=1`));
  assert.ok(long!.length < 500);
});

Deno.test("public routes: ignore unknown query parameters, so that no notification is lost", async () => {
  await using payments = await openPayments();
  const payment = await payments.charge();
  await payments.sandbox.control(`transactions/${payment.transaction_id}/pay`);
  const notification = buildNotification(payment, "settlement");
  const received = await payments.app.request("/notification/?token=x&token=y", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...notification, a_member_of_the_future: { deep: true } }),
  });
  assert.equal(received.status, 200, await received.text());
  assert.equal((await payments.read(payment.id)).transaction_status, "settlement");
  for (const path of ["/health/live/?x=1", "/health/ready/?x=1", "/reference/?x=1"]) {
    const response = await payments.app.request(path);
    assert.equal(response.status, 200, path);
    await response.body?.cancel();
  }
});

Deno.test("an unknown member of a charge: is rejected at every depth, with the nearest name", async () => {
  await using payments = await openPayments();
  const charge = { payment_type: "bank_transfer", bank: "bca", gross_amount: 1000 };
  const rejected = async (more: Json) =>
    await errorsOf(await payments.post("/charge/", { ...charge, ...more }));
  assert.deepEqual(await rejected({ ordr_id: "a-1" }), [
    "ordr_id: is not known; did you mean order_id?",
  ]);
  assert.deepEqual(await rejected({ ordr_id: null }), [
    "ordr_id: is not known; did you mean order_id?",
  ]);
  assert.deepEqual(await rejected({ customer_details: { frist_name: "Budi" } }), [
    "customer_details.frist_name: is not known; did you mean first_name?",
  ]);
  assert.deepEqual(await rejected({ customer_details: { billing_address: { cty: "Jakarta" } } }), [
    "customer_details.billing_address.cty: is not known; did you mean city?",
  ]);
  assert.deepEqual(
    await rejected({ item_details: [{ name: "Tea", price: 1000, quantity: 1, prise: 2 }] }),
    ["item_details.0.prise: is not known; did you mean price?"],
  );
  assert.deepEqual(await rejected({ custom_expiry: { expiry_duration: 5, units: "hour" } }), [
    "custom_expiry.units: is not known; did you mean unit?",
  ]);
  // Unknown members are reported together with other errors of the same body.
  assert.deepEqual(await rejected({ gross_amount: -1, bnak: "bca" }), [
    "bnak: is not known; did you mean bank?",
    "gross_amount: must be a whole number above 0",
  ]);
  const list = await payments.get("/payments/");
  assert.deepEqual(await list.json(), []);
});

Deno.test("a charge: ignores members of another payment type, and keeps any metadata", async () => {
  await using payments = await openPayments();
  const charged = await payments.post("/charge/", {
    payment_type: "qris",
    gross_amount: 1000,
    bank: "bca",
    store: "indomaret",
    token_id: null,
    metadata: { ordr_id: 1, nested: { anything: [null] } },
  });
  assert.equal(charged.status, 201, await charged.clone().text());
  assert.deepEqual((await charged.json()).metadata, { ordr_id: 1, nested: { anything: [null] } });
});

Deno.test("custom_expiry: is rejected for cards and OVO, with the reason", async () => {
  await using payments = await openPayments();
  const custom_expiry = { expiry_duration: 5, unit: "hour" };
  for (
    const charge of [
      { payment_type: "credit_card", token_id: "481111-1114-x", gross_amount: 1000 },
      { payment_type: "ovo", gross_amount: 1000, customer_details: { phone: "+628123456789" } },
    ]
  ) {
    const response = await payments.post("/charge/", { ...charge, custom_expiry });
    assert.deepEqual(await errorsOf(response), [
      `custom_expiry: must be omitted for ${charge.payment_type}: the gateway sets the expiry`,
    ]);
    const omitted = await payments.post("/charge/", {
      ...charge,
      custom_expiry: null,
      gross_amount: 0,
    });
    assert.deepEqual(await errorsOf(omitted), ["gross_amount: must be a whole number above 0"]);
  }
});

Deno.test("an unknown member of another body: is rejected, also by operations that take no input", async () => {
  await using payments = await openPayments();
  const key = await payments.app.createKey({ isStaff: true });
  const bodies: Record<string, Json> = {
    [`/payments/${ID}/refund/`]: { amuont: 5 },
    [`/payments/${ID}/capture/`]: { amuont: 5 },
    [`/payments/${ID}/cancel/`]: { reason: "x" },
    [`/payments/${ID}/expire/`]: { reason: "x" },
    "/invoices/": { itmes: [] },
    [`/invoices/${ID}/void/`]: { raeson: "x" },
    "/subscriptions/": { intervall: 1, payment_type: "gopay" },
    [`/subscriptions/${ID}/disable/`]: { force: true },
    "/webhook-endpoints/": { uri: "https://shop.example" },
    [`/reviews/${ID}/approve/`]: { reason: "x" },
    [`/reviews/${ID}/deny/`]: { reason: "x" },
    "/keys/": { user: "shop" },
  };
  for (const [path, body] of Object.entries(bodies)) {
    const errors = await errorsOf(await payments.post(path, body, {}, key));
    const name = Object.keys(body)[0];
    assert.ok(
      errors.some((error) => error.startsWith(`${name}: is not known`)),
      `${path} ${errors}`,
    );
  }
});

Deno.test("null: counts as omitted in refunds and captures", async () => {
  await using payments = await openPayments();
  const paid = await payments.paid("gopay");
  const refund = await payments.post(`/payments/${paid.id}/refund/`, {
    amount: null,
    reason: null,
    direct: null,
  });
  assert.equal(refund.status, 200, await refund.clone().text());
  assert.equal((await refund.json()).payment.transaction_status, "refund");
  const pending = await payments.charge();
  await assertProblem(
    await payments.post(`/payments/${pending.id}/capture/`, { amount: null }),
    400,
    "invalid_state",
  );
});

Deno.test("empty text: counts as omitted where text is optional, and is rejected where it is required", async () => {
  await using payments = await openPayments();
  const charged = await payments.charge("bca", {
    customer_details: { first_name: "", last_name: "Utomo", email: "", phone: "" },
  });
  assert.equal(charged.customer_email, null);
  const paid = await payments.paid("gopay");
  const refund = await payments.post(`/payments/${paid.id}/refund/`, { amount: 1000, reason: "" });
  assert.equal(refund.status, 200, await refund.clone().text());
  assert.equal((await refund.json()).refund.reason, null);
  const invoice = await payments.post("/invoices/", {
    customer_name: "Budi",
    customer_email: "",
    due_date: "2099-12-31",
    items: [{ description: "Tea", price: 1000, quantity: 1 }],
    notes: "",
  });
  assert.equal(invoice.status, 201, await invoice.clone().text());
  assert.equal((await invoice.json()).notes, null);
  const required = await payments.post("/invoices/", {
    customer_name: "",
    due_date: "2099-12-31",
    items: [{ description: "", price: 1000, quantity: 1 }],
  });
  assert.deepEqual(await errorsOf(required), [
    "customer_name: must not be empty",
    "items.0.description: must not be empty",
  ]);
});

Deno.test("random unknown names: always cause a validation error", async () => {
  await using payments = await openPayments();
  await fc.assert(
    fc.asyncProperty(fc.string({ minLength: 1, maxLength: 80, unit: "binary" }), async (name) => {
      const body = { payment_type: "qris", gross_amount: 1000, [name]: 1 };
      const charge = await payments.post("/charge/", body);
      if (charge.status === 201) assert.ok(Object.hasOwn(KNOWN, name), name);
      else await errorsOf(charge);
    }),
    { numRuns: 100 },
  );
});

/** Members of other payment types, which are ignored: a random name can equal one by chance. */
const KNOWN = { bank: 1, store: 1 };
