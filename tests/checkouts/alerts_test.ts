import assert from "node:assert/strict";
import {
  type Checkout,
  openCheckouts,
  type TestCheckouts,
} from "../support/checkouts/checkouts.ts";
import { openStaff, orderIdsIn } from "../support/console/browsing.ts";
import { createDatabase } from "../support/database/database.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";

interface Paid {
  checkout: Checkout;
  paymentId: string;
}

async function payCheckout(checkouts: TestCheckouts, order_id: string): Promise<Paid> {
  const checkout = await checkouts.create({ order_id });
  await checkouts.choose(checkout, "gopay");
  const [payment] = await checkouts.paymentsOf(checkout);
  const { transaction_id } = await checkouts.read(payment!.id);
  await checkouts.sandbox.control(`transactions/${transaction_id}/pay`);
  await checkouts.refresh(payment!.id);
  await runDueJobs(checkouts.app);
  const paid = await checkouts.readCheckout(checkout.id);
  assert.equal(paid.status, "paid");
  return { checkout: paid, paymentId: payment!.id };
}

Deno.test("checkout alerts: paid twice and paid late count in the status, the metrics and the console until money is refunded", async () => {
  await using checkouts = await openCheckouts({ databaseUrl: await createDatabase() });
  const { app } = checkouts;
  const key = await app.createKey({ isStaff: true });
  const counts = async () => {
    const { checkouts: { paid_twice, paid_late } } = await (await checkouts.get("/status/", key))
      .json();
    const metrics = await (await checkouts.get("/metrics", key)).text();
    const gauges = ["twice", "late"].map((name) =>
      Number(metrics.match(new RegExp(`^payment_gateway_checkouts_paid_${name} (\\d+)$`, "m"))![1])
    );
    assert.deepEqual(gauges, [paid_twice, paid_late]);
    return gauges;
  };
  const staff = await openStaff(checkouts);
  /** The entries of the overview, and the orders on the pages to which they lead. */
  const attention = async () => {
    const { html } = await staff.open("/console/");
    const links = [
      ...html.matchAll(/href="([^"]+)"[^>]*>[^<]*(?:<[^>]+>[^<]*)?paid (twice|late)/g),
    ];
    const found: Record<string, string[]> = {};
    for (const [, path, name] of links) {
      found[name!] = orderIdsIn((await staff.open(path!)).html);
    }
    return found;
  };
  const normal = await payCheckout(checkouts, "normal");
  const twice = await payCheckout(checkouts, "twice");
  const late = await payCheckout(checkouts, "late");
  const extra = await checkouts.paid("gopay");
  assert.deepEqual(await counts(), [0, 0]);
  assert.deepEqual(await attention(), {});

  // Both are rare, so the test stores them.
  await app.database.query((sql) =>
    sql`update gateway.checkouts
      set is_late = id = ${late.checkout.id},
        extra_payment_id = case when id = ${twice.checkout.id} then ${extra.id}::uuid end`
  );
  assert.deepEqual(await counts(), [1, 1]);
  assert.deepEqual(await attention(), { twice: ["twice"], late: ["late"] });
  const { html } = await staff.open("/console/status/");
  assert.match(html, /href="\/console\/checkouts\/\?alert=paid_twice"/);

  const refund = async (id: string) => {
    const { status } = await checkouts.post(`/payments/${id}/refund/`, {});
    assert.equal(status, 200);
  };
  await refund(normal.paymentId);
  assert.deepEqual(await counts(), [1, 1]);
  await refund(extra.id);
  assert.deepEqual(await counts(), [0, 1]);
  await refund(late.paymentId);
  assert.deepEqual(await counts(), [0, 0]);
  assert.deepEqual(await attention(), {});
});
