import assert from "node:assert/strict";
import { notificationUrl } from "../../core/gateway/notification_url.ts";
import { openReceiver } from "../support/gateway/sandbox.ts";
import { openCheckouts } from "../support/checkouts/checkouts.ts";
import { pay } from "../support/gateway/snap.ts";
import { clientFor, openFakeGateway, respondWith } from "../support/gateway/gateway.ts";
import { CHARGE_KINDS, openPayments } from "../support/payments/payments.ts";
import { until } from "../support/until.ts";

Deno.test("notification URL of a charge: is PUBLIC_URL and the path of notifications", () => {
  const real = "https://api.midtrans.com";
  const here = "http://127.0.0.1:8001";
  const urlFor = (publicUrl: string | null, gateway: string) => notificationUrl(publicUrl, gateway);
  assert.equal(
    urlFor("https://shop.example/pay", real),
    "https://shop.example/pay/notification/",
  );
  assert.equal(urlFor("https://shop.example", here), null, "a sandbox sends nothing outside");
  assert.equal(urlFor(null, real), null);
  assert.equal(urlFor(null, here), null);
});

for (const host of ["127.0.0.1", "localhost", "[::1]"]) {
  Deno.test(`notification URL of a charge: ${host} is named only to a gateway on this machine`, () => {
    const publicUrl = `http://${host}:8000`;
    assert.equal(notificationUrl(publicUrl, "https://api.sandbox.midtrans.com"), null);
    assert.equal(
      notificationUrl(publicUrl, "http://localhost:8001"),
      `http://${host}:8000/notification/`,
    );
  });
}

Deno.test("charge: with PUBLIC_URL, the notifications of every payment type are sent to it instead of the dashboard's URL", async () => {
  await using receiver = openReceiver();
  await using payments = await openPayments({ env: { PUBLIC_URL: `${receiver.url}/base` } });
  const charged = new Set<string>();
  for (const kind of CHARGE_KINDS) charged.add((await payments.charge(kind)).order_id);
  await payments.sandbox.waitForWebhooks();
  await until("all are notified", () => receiver.hooks.length >= CHARGE_KINDS.length);
  assert.deepEqual(new Set(receiver.hooks.map(({ body }) => body.order_id)), charged);
  assert.deepEqual([...new Set(receiver.hooks.map(({ path }) => path))], ["/base/notification/"]);
  assert.deepEqual(payments.sandbox.hooks, []);
});

Deno.test("charge: without PUBLIC_URL, the notifications are sent to the dashboard's URL", async () => {
  await using payments = await openPayments();
  const { order_id } = await payments.charge("bca");
  await payments.sandbox.waitForWebhooks();
  const [hook] = payments.sandbox.hooks;
  assert.deepEqual([hook!.path, hook!.body.order_id], ["/payment", order_id]);
});

Deno.test("card in a checkout: with PUBLIC_URL, its notifications are sent to it, too", async () => {
  await using receiver = openReceiver();
  await using checkouts = await openCheckouts({ env: { PUBLIC_URL: receiver.url } });
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "credit_card");
  const [{ token }] = await checkouts.sandbox.get(`/_sandbox/snap?order_id=${checkout.order_id}`);
  await pay(checkouts.sandbox, token);
  await until("it is notified", () => receiver.hooks.length > 0);
  const [hook] = receiver.hooks;
  assert.deepEqual([hook!.path, hook!.body.order_id], ["/notification/", checkout.order_id]);
  assert.deepEqual(checkouts.sandbox.hooks, []);
});

Deno.test("gateway client: names a notification URL only in charges and Snap pages", async () => {
  await using gateway = openFakeGateway(respondWith({ status_code: "200", order_id: "o" }));
  const client = clientFor(gateway.url);
  const options = { notificationUrl: "https://shop.example/notification/" };
  const charge = {
    payment_type: "gopay",
    transaction_details: { order_id: "o", gross_amount: 1_000 },
  };
  await client.charge(charge, options).catch(() => {});
  await client.charge(charge, { notificationUrl: null }).catch(() => {});
  for (
    const call of [
      () => client.getStatus("o", options),
      () => client.cancel("o", options),
      () => client.refund("o", "key", 1_000, "", options),
      () => client.createSubscription({ name: "s" }, options),
      () => client.createInvoice({ order_id: "o" }, options),
      () => client.createPayAccount({ payment_type: "gopay" }, options),
    ]
  ) await call().catch(() => {});
  const named = gateway.received.map(({ headers }) => headers.get("X-Override-Notification"));
  assert.deepEqual(named, [options.notificationUrl, ...Array(7).fill(null)]);
});
