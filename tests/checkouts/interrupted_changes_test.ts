import assert from "node:assert/strict";
import { checkCheckouts } from "../../core/checkouts/settle_checkout.ts";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import {
  type Checkout,
  openCheckouts,
  type TestCheckouts,
} from "../support/checkouts/checkouts.ts";
import { assertOnePayable } from "../support/checkouts/one_payable.ts";
import { endJobLeases, runDueJobs } from "../support/jobs/due_jobs.ts";
import { manualClock } from "../support/manual_clock.ts";
import { createLossyDatabase, LOSSES } from "../support/records/losses.ts";
import { shareOf, STATEMENT_STEP } from "../support/share.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** More statements than a change of the method runs. */
const MAX_STATEMENTS = 60;

interface Interrupted extends TestCheckouts {
  losses: ReturnType<typeof createLossyDatabase>;
  /** Lets time pass, for the service and the gateway, and does the background work. */
  later(ms: number): Promise<void>;
  /** The customer chooses; an interruption may end the request with an error. */
  tryChoose(checkout: Checkout, method: string): Promise<void>;
}

async function openInterrupted(): Promise<Interrupted> {
  const losses = createLossyDatabase();
  const { now, advance } = manualClock();
  const checkouts = await openCheckouts({ now, ...losses });
  const { app, sandbox } = checkouts;
  return {
    ...checkouts,
    losses,
    async later(ms) {
      advance(ms);
      await sandbox.advance(Math.round(ms / 1_000));
      await endJobLeases(app);
      await checkPendingPayments(app.service);
      await checkCheckouts(app.service);
      while (await runDueJobs(app) > 0);
    },
    async tryChoose(checkout, method) {
      const path = new URL(checkout.checkout_url!).pathname;
      const response = await app.fetchUnchecked(
        new Request(new URL(path, "https://pay.shop.example"), {
          method: "POST",
          body: new URLSearchParams({ method, phone: "+628123456789" }),
        }),
      );
      await response.body?.cancel();
      assert.ok([303, 429, 500, 502, 503, 504].includes(response.status), String(response.status));
    },
  };
}

/** In the end nothing is open at the gateway, and the checkout has ended as its payments say. */
async function assertEnded(service: Interrupted, checkout: Checkout, message: string) {
  await service.later(DAY_MS + MINUTE_MS);
  for (let round = 0; round < 5; round++) await service.later(2 * MINUTE_MS);
  const all = await service.transactionsOf(checkout);
  const open = all.filter(({ transaction_status }) => transaction_status === "pending");
  assert.deepEqual(open, [], `${message}: still open at the gateway`);
  const isPaid = all.some(({ transaction_status }) => transaction_status === "settlement");
  const { status, attempts } = await service.readCheckout(checkout.id);
  assert.equal(status, isPaid ? "paid" : "expired", message);
  assert.ok(attempts.every(({ closed_at }) => closed_at !== null), message);
  await assertOnePayable(service.sandbox, checkout, message);
}

for (const loss of LOSSES) {
  Deno.test(`change of method: if any ${loss} of the database is lost, at most one attempt is payable`, async () => {
    await using service = await openInterrupted();
    let wasLost = true;
    for (let number = 1; wasLost && number <= MAX_STATEMENTS; number += STATEMENT_STEP) {
      const checkout = await service.create();
      await service.tryChoose(checkout, "bca_va");
      service.losses.lose(number, loss);
      await service.tryChoose(checkout, "qris");
      wasLost = service.losses.stop();
      const message = `${loss} ${number}`;
      await assertOnePayable(service.sandbox, checkout, message);
      await service.later(3 * MINUTE_MS);
      await service.tryChoose(checkout, "qris");
      await assertOnePayable(service.sandbox, checkout, message);
      await assertEnded(service, checkout, message);
    }
    assert.equal(wasLost, false, "the test stopped before the last statement");
  });
}

const METHODS = ["bca_va", "qris", "gopay", "indomaret", "ovo", "echannel", "akulaku"];
const FAULTS = ["answer_lost", "reset", "error_500", "no_answer"] as const;

Deno.test("change of method: 200 random plans with lost answers and statements never leave two payable", async () => {
  await using service = await openInterrupted();
  for (let seed = 1; seed <= shareOf(200, 10); seed++) {
    const random = createRandom(seededState(seed));
    const pick = <T>(values: readonly T[]): T => values[random.below(values.length)]!;
    const checkout = await service.create();
    const plan: string[] = [];
    for (let step = 0; step < 2 + random.below(5); step++) {
      const action = random.below(10);
      if (action < 2) {
        const operation = pick(["charge", "expire", "cancel", "status"]);
        const fault = pick(FAULTS.slice(0, 3));
        plan.push(`${fault} of ${operation}`);
        await service.sandbox.fault(operation, fault);
      } else if (action < 4) {
        const [number, loss] = [1 + random.below(25), pick(LOSSES)];
        plan.push(`${loss} ${number} lost`);
        service.losses.lose(number, loss);
      } else if (action === 4) {
        plan.push("pay");
        const pending = (await service.transactionsOf(checkout))
          .find(({ transaction_status }) => transaction_status === "pending");
        if (pending) await service.sandbox.control(`transactions/${pending.transaction_id}/pay`);
      } else if (action === 5) {
        plan.push("three minutes");
        service.losses.stop();
        await service.later(3 * MINUTE_MS);
      } else {
        const methods = [pick(METHODS), pick(METHODS)].slice(0, 1 + random.below(2));
        plan.push(`choose ${methods.join(" and ")}`);
        await Promise.all(methods.map((method) => service.tryChoose(checkout, method)));
      }
      await assertOnePayable(service.sandbox, checkout, `seed ${seed}: ${plan.join("; ")}`);
    }
    service.losses.stop();
    await service.sandbox.control("faults", undefined, "DELETE");
    await assertEnded(service, checkout, `seed ${seed}: ${plan.join("; ")}`);
  }
});
