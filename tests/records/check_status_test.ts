import assert from "node:assert/strict";
import { createDatabase } from "../support/database/database.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { assertProblem } from "../support/problem.ts";
import { openInvoices } from "../support/records/invoices.ts";
import { openSubscriptions } from "../support/records/subscriptions.ts";

const databaseUrl = await createDatabase();

const UNKNOWN_ID = "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5";

async function readJson(response: Response): Promise<Json> {
  assert.equal(response.status, 200, await response.clone().text());
  return await response.json();
}

Deno.test("GET /invoices/{pk}/check_status/: updates the invoice and returns the gateway's response", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const invoice = await invoices.create();
  await invoices.pay(invoice);
  assert.equal((await invoices.find(invoice.id)).status, "sent");
  const path = `/invoices/${invoice.id}/check_status/`;
  for (const key of [invoices.key, invoices.staff]) {
    const checked = await readJson(await invoices.get(path, key));
    assert.deepEqual(checked.invoice, await invoices.find(invoice.id));
    assert.equal(checked.invoice.status, "paid");
    assert.deepEqual(checked.gateway_response, await invoices.atGateway(invoice));
  }
});

Deno.test("GET /invoices/{pk}/check_status/: gateway_response is null if the gateway has not confirmed the invoice", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  await invoices.sandbox.fault("invoice_create", "error_500", { count: 10 });
  const body = { customer_name: "Budi", due_date: "2099-12-31" };
  const items = [{ description: "Beans", price: 75_000, quantity: 1 }];
  const response = await invoices.post("/invoices/", { ...body, items });
  const { invoice_id } = await response.json();
  const calls = invoices.relay.received.length;
  const checked = await readJson(await invoices.get(`/invoices/${invoice_id}/check_status/`));
  assert.deepEqual([checked.invoice.status, checked.gateway_response], ["pending", null]);
  assert.equal(invoices.relay.received.length, calls);
});

Deno.test("GET /invoices/{pk}/check_status/: changes nothing if the gateway does not respond", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const invoice = await invoices.create();
  await invoices.sandbox.fault("invoice_get", "reset", { count: 10 });
  const response = await invoices.get(`/invoices/${invoice.id}/check_status/`);
  const problem = await assertProblem(response, 502, "gateway_unreachable");
  assert.equal(problem.invoice_id, invoice.id);
  assert.deepEqual(await invoices.find(invoice.id), invoice);
});

Deno.test("GET /subscriptions/{pk}/check_status/: adopts charges, and returns the gateway's response without the token", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  const subscription = await subscriptions.create();
  await subscriptions.advanceToNextCycle(subscription);
  assert.equal((await subscriptions.payments(subscription)).length, 0);
  const path = `/subscriptions/${subscription.id}/check_status/`;
  const checked = await readJson(await subscriptions.get(path));
  assert.equal(checked.subscription.current_interval, 1);
  assert.deepEqual(checked.subscription, await subscriptions.stored(subscription.id));
  assert.equal((await subscriptions.payments(subscription)).length, 1);
  const { token, ...rest } = await subscriptions.atGateway(subscription);
  assert.ok(token);
  assert.deepEqual(checked.gateway_response, rest);
});

Deno.test("check_status: another user's invoice or subscription is not found, and the gateway is not called", async () => {
  await using subscriptions = await openSubscriptions({ databaseUrl });
  await using invoices = await openInvoices({ databaseUrl });
  for (
    const { resource, world, id } of [
      { resource: "invoices", world: invoices, id: (await invoices.create()).id },
      { resource: "subscriptions", world: subscriptions, id: (await subscriptions.create()).id },
    ]
  ) {
    const bob = await world.app.createKey({ userId: "bob" });
    const calls = world.relay.received.length;
    for (const target of [id, UNKNOWN_ID, "x"]) {
      const response = await world.get(`/${resource}/${target}/check_status/`, bob);
      await assertProblem(response, 404, "not_found");
    }
    assert.equal(world.relay.received.length, calls);
  }
});
