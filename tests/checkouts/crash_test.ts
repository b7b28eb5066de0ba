import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { checkCheckouts, settleCheckout } from "../../core/checkouts/settle_checkout.ts";
import { CheckoutSchema } from "../../core/checkouts/schema.ts";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import type { Checkout } from "../support/checkouts/checkouts.ts";
import { assertOnePayable } from "../support/checkouts/one_payable.ts";
import { CARDS, pay } from "../support/gateway/snap.ts";
import { type Installation, openInstallation } from "../support/crash/installation.ts";
import { shareOf } from "../support/share.ts";
import { until } from "../support/until.ts";

/** A change of the method takes about this many messages to the database and the gateway. */
const MESSAGES = 60;

/** How many kills of each change, spread over the whole change. */
const KILLS = shareOf(20);

const CHANGES = [["bca_va", "qris"], ["credit_card", "qris"], ["qris", "credit_card"]] as const;

/** After how many messages a change is killed; other ones for each change. */
function killPoints(change: number): number[] {
  const step = MESSAGES / KILLS;
  const first = step * change / CHANGES.length;
  return Array.from({ length: KILLS }, (_, index) => 1 + Math.floor(first + index * step));
}

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

for (const [change, [first, second]] of CHANGES.entries()) {
  Deno.test(`change from ${first} to ${second}: wherever the service is killed, at most one attempt is payable`, async (t) => {
    await using service = await openInstallation({ settings: {}, forwardsKeys: true });
    const { sandbox } = service;
    await service.start();
    for (const messages of killPoints(change)) {
      await t.step(`killed after ${messages} messages`, async () => {
        const { checkout, path } = await createCheckout(service);
        assert.equal(await service.submit(path, { method: first }), 303);
        service.killAfter(messages);
        await service.submit(path, { method: second });
        await service.kill();
        await assertOnePayable(sandbox, checkout, "after the kill");
        await service.untilLockIsFree();
        await service.start();
        for (let round = 0; round < 3; round++) {
          await runBackground(service);
          await assertOnePayable(sandbox, checkout, "after background work");
          assert.equal(await service.submit(path, { method: second }), 303);
          await assertOnePayable(sandbox, checkout, "after another choice");
        }
        const { attempts } = await service.get(`/checkouts/${checkout.id}/`) as Checkout;
        const open = attempts.filter(({ closed_at }) => closed_at === null);
        assert.deepEqual(open.map(({ method }) => method), [second]);
        if (first === "credit_card") await assertPageIsUnusable(service, checkout);
        if (second === "credit_card") await assertPaidByCard(service, checkout);
      });
    }
  });
}

/** The customer still has the page of the first attempt open. */
async function assertPageIsUnusable({ sandbox }: Installation, { order_id }: Checkout) {
  const pages = await sandbox.get(`/_sandbox/snap?order_id=${order_id}`);
  const { http } = await sandbox.call("POST", `/_sandbox/snap/${pages.at(-1).token}/pay`, {
    card_number: CARDS.accepted,
  });
  assert.equal(http, 409);
}

/** The page of the open attempt can be paid, and the checkout becomes paid. */
async function assertPaidByCard(service: Installation, { id, order_id }: Checkout): Promise<void> {
  const { attempts } = await service.get(`/checkouts/${id}/`) as Checkout;
  const name = attempts.at(-1)!.order_id;
  const [page] = await service.sandbox.get(`/_sandbox/snap?order_id=${name}`);
  await pay(service.sandbox, page.token);
  // The gateway is asked at most once in a second.
  await until("the checkout is paid", async () => {
    await service.runJobs((instance) => settleCheckout(instance, id));
    const { status } = await service.get(`/checkouts/${id}/`) as Checkout;
    return status === "paid";
  });
  await assertOnePayable(service.sandbox, { order_id }, "after the payment");
}
