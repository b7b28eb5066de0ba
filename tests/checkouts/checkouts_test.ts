import assert from "node:assert/strict";
import { CHARGED_METHODS, openCheckouts } from "../support/checkouts/checkouts.ts";
import { AMOUNT, CUSTOMER, ITEMS } from "../support/gateway/sandbox.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";

const PHONE = { phone: "0812-3456-789" };

for (const method of CHARGED_METHODS) {
  Deno.test(`checkout: is paid with ${method} through its page`, async () => {
    await using checkouts = await openCheckouts();
    const { app, sandbox } = checkouts;
    const checkout = await checkouts.create({
      ...method === "akulaku" || method === "kredivo"
        ? { gross_amount: AMOUNT, item_details: ITEMS, customer_details: CUSTOMER }
        : {},
      finish_url: "https://shop.example/thanks",
    });
    assert.equal(checkout.status, "open");
    assert.match(await checkouts.page(checkout), new RegExp(`value="${method}"`));
    await checkouts.choose(checkout, method, PHONE);
    const [transaction, ...others] = await checkouts.transactionsOf(checkout);
    assert.deepEqual(others, []);
    assert.equal(transaction!.order_id, checkout.order_id);
    await sandbox.control(`transactions/${transaction!.transaction_id}/pay`);
    const chosen = await checkouts.readCheckout(checkout.id);
    assert.deepEqual(chosen.attempts.map(({ method, status }) => [method, status]), [
      [method, "open"],
    ]);
    const [payment] = await (await checkouts.get(`/payments/?order_id=${checkout.order_id}`))
      .json();
    await checkouts.refresh(payment.id);
    await runDueJobs(app);
    const paid = await checkouts.readCheckout(checkout.id);
    assert.deepEqual(
      [paid.status, paid.is_late, paid.payment_id, paid.payment?.checkout_id],
      ["paid", false, payment.id, checkout.id],
    );
    assert.deepEqual(paid.attempts.map(({ status }) => status), ["paid"]);
    assert.deepEqual(await checkouts.events(checkout.id), ["checkout_completed"]);
    const page = await checkouts.page(checkout);
    assert.ok(page.includes(`https://shop.example/thanks?checkout_id=${checkout.id}`));
  });
}
