import assert from "node:assert/strict";
import { checkCheckouts } from "../../core/checkouts/settle_checkout.ts";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import { openCards, type TestCards } from "../support/checkouts/cards.ts";
import type { Checkout } from "../support/checkouts/checkouts.ts";
import { assertOnePayable } from "../support/checkouts/one_payable.ts";
import { CARDS } from "../support/gateway/snap.ts";
import { endJobLeases, runDueJobs } from "../support/jobs/due_jobs.ts";
import { manualClock } from "../support/manual_clock.ts";
import { createLossyDatabase, LOSSES } from "../support/records/losses.ts";
import { shareOf, STATEMENT_STEP } from "../support/share.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** More statements than a change of the method runs. */
const MAX_STATEMENTS = 60;

interface Interrupted extends TestCards {
  losses: ReturnType<typeof createLossyDatabase>;
  /** Lets time pass, for the service and the gateway, and does the background work. */
  later(ms: number): Promise<void>;
  /** The customer tries to pay on every page for cards that the checkout has ever shown. */
  tryCard(checkout: Checkout): Promise<void>;
  /** The customer chooses; an interruption may end the request with an error. */
  tryChoose(checkout: Checkout, method: string): Promise<void>;
}

async function openInterrupted(): Promise<Interrupted> {
  const losses = createLossyDatabase();
  const { now, advance } = manualClock();
  const checkouts = await openCards({ now, ...losses });
  const { app, sandbox } = checkouts;
  const shown = new Set<string>();
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
    async tryCard(checkout) {
      for (const { token } of await checkouts.pagesOf(checkout)) {
        // The customer never saw a page that only made another one unusable.
        if (!shown.has(token)) continue;
        await sandbox.call("POST", `/_sandbox/snap/${token}/pay`, { card_number: CARDS.accepted });
      }
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
      const page = await app.fetchUnchecked(new Request(new URL(path, "https://pay.shop.example")));
      const [, token] = (await page.text()).match(/redirection\/([\w-]+)/) ?? [];
      if (token) shown.add(token);
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
  const isPaid = all.some(({ transaction_status }) =>
    ["capture", "settlement"].includes(transaction_status)
  );
  const { status, attempts } = await service.readCheckout(checkout.id);
  assert.equal(status, isPaid ? "paid" : "expired", message);
  assert.ok(attempts.every(({ closed_at }) => closed_at !== null), message);
  await assertOnePayable(service.sandbox, checkout, message);
}

const CHANGES = [["bca_va", "qris"], ["credit_card", "qris"], ["qris", "credit_card"]] as const;

for (
  const [loss, [first, second]] of LOSSES.flatMap((loss) => CHANGES.map((c) => [loss, c] as const))
) {
  Deno.test(`change from ${first} to ${second}: if any ${loss} of the database is lost, at most one attempt is payable`, async () => {
    await using service = await openInterrupted();
    let wasLost = true;
    for (let number = 1; wasLost && number <= MAX_STATEMENTS; number += STATEMENT_STEP) {
      const checkout = await service.create();
      await service.tryChoose(checkout, first);
      service.losses.lose(number, loss);
      await service.tryChoose(checkout, second);
      wasLost = service.losses.stop();
      const message = `${loss} ${number}`;
      await assertOnePayable(service.sandbox, checkout, message);
      await service.later(3 * MINUTE_MS);
      await service.tryChoose(checkout, second);
      await service.tryCard(checkout);
      await assertOnePayable(service.sandbox, checkout, message);
      await assertEnded(service, checkout, message);
    }
    assert.equal(wasLost, false, "the test stopped before the last statement");
  });
}

const METHODS = [
  ...["bca_va", "qris", "gopay", "indomaret", "ovo", "echannel", "akulaku"],
  ...["credit_card", "credit_card"],
];
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
        const operation = pick([
          ...["charge", "expire", "cancel", "status"],
          ...["snap_create", "snap_cancel"],
        ]);
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
        else await service.tryCard(checkout);
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
