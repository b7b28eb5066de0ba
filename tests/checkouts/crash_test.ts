import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { checkCheckouts } from "../../core/checkouts/settle_checkout.ts";
import { CheckoutSchema } from "../../core/checkouts/schema.ts";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import type { Checkout } from "../support/checkouts/checkouts.ts";
import { assertOnePayable } from "../support/checkouts/one_payable.ts";
import { type Installation, openInstallation } from "../support/crash/installation.ts";
import { shareOf } from "../support/share.ts";

/** A change of the method takes about this many messages to the database and the gateway. */
const MESSAGES = 60;

/** Spread over the whole change. */
const POINTS = Array.from(
  { length: shareOf(30, 3) },
  (_, index, count = shareOf(30, 3)) => 1 + Math.floor(index * MESSAGES / count),
);

async function createCheckout(
  service: Installation,
): Promise<{ checkout: Checkout; path: string }> {
  const request = { path: "/checkouts/", body: { gross_amount: 44_000 }, key: randomUUID() };
  const reply = await service.post(request);
  assert.equal(reply?.status, 201, JSON.stringify(reply));
  const checkout = CheckoutSchema.parse(reply!.body);
  return { checkout, path: new URL(checkout.checkout_url!).pathname };
}

/** What the schedule does, in an instance whose clock is past every lease. */
async function runBackground(service: Installation): Promise<void> {
  await service.runJobs(async (instance) => {
    await checkPendingPayments(instance);
    await checkCheckouts(instance);
  });
}

Deno.test("change of method: wherever the service is killed, at most one attempt is payable", async (t) => {
  await using service = await openInstallation({ settings: {}, forwardsKeys: true });
  const { sandbox } = service;
  await service.start();
  for (const messages of POINTS) {
    await t.step(`killed after ${messages} messages`, async () => {
      const { checkout, path } = await createCheckout(service);
      assert.equal(await service.submit(path, { method: "bca_va" }), 303);
      service.killAfter(messages);
      await service.submit(path, { method: "qris" });
      await service.kill();
      await assertOnePayable(sandbox, checkout, "after the kill");
      await service.untilLockIsFree();
      await service.start();
      for (let round = 0; round < 3; round++) {
        await runBackground(service);
        await assertOnePayable(sandbox, checkout, "after background work");
        assert.equal(await service.submit(path, { method: "qris" }), 303);
        await assertOnePayable(sandbox, checkout, "after another choice");
      }
      const { attempts } = await service.get(`/checkouts/${checkout.id}/`) as Checkout;
      const open = attempts.filter(({ closed_at }) => closed_at === null);
      assert.deepEqual(open.map(({ method }) => method), ["qris"]);
    });
  }
});
