/** A customer who pays a checkout by card, on the page of the emulated gateway. */

import assert from "node:assert/strict";
import type { TestAppOptions } from "../app.ts";
import type { Json } from "../gateway/sandbox.ts";
import { notify } from "../gateway/notifications.ts";
import { CARDS } from "../gateway/snap.ts";
import { runDueJobs } from "../jobs/due_jobs.ts";
import { type Checkout, openCheckouts, type TestCheckouts } from "./checkouts.ts";

export interface TestCards extends TestCheckouts {
  /** The gateway's pages of all attempts, oldest first. */
  pagesOf(checkout: Checkout): Promise<Json[]>;
  /** The customer enters a card on the newest page; the gateway's notifications are held back. */
  payByCard(checkout: Checkout, more?: Json): Promise<Json>;
  /** Sends the service all notifications that it has not got yet, and lets its jobs finish. */
  deliver(): Promise<void>;
  /** The statuses of the payments, in the order in which they were stored. */
  paymentStatuses(checkout: Checkout): Promise<string[]>;
}

export async function openCards(options: Partial<TestAppOptions> = {}): Promise<TestCards> {
  const checkouts = await openCheckouts(options);
  const { app, sandbox } = checkouts;
  let delivered = 0;
  const cards: TestCards = {
    ...checkouts,
    async pagesOf({ order_id }) {
      const names = Array.from(
        { length: 10 },
        (_, i) => i === 0 ? order_id : `${order_id}~${i + 1}`,
      );
      const pages = await Promise.all(
        names.map((name) => sandbox.get(`/_sandbox/snap?order_id=${name}`)),
      );
      return pages.map((each) => each.toReversed()).flat();
    },
    async payByCard(checkout, more = {}) {
      const page = (await cards.pagesOf(checkout)).at(-1);
      assert.ok(page, "there is no page for cards");
      const { body } = await sandbox.call("POST", `/_sandbox/snap/${page.token}/pay`, {
        card_number: CARDS.accepted,
        ...more,
      });
      return body;
    },
    async deliver() {
      await sandbox.waitForWebhooks();
      while (delivered < sandbox.hooks.length) {
        const response = await notify(checkouts, sandbox.hooks[delivered++]!.body);
        assert.equal(response.status, 200, await response.clone().text());
        await response.body?.cancel();
      }
      await runDueJobs(app);
    },
    async paymentStatuses(checkout) {
      const ids = await checkouts.paymentsOf(checkout);
      const payments = await Promise.all(ids.map(({ id }) => checkouts.read(id)));
      return payments.toSorted((a, b) => a.id < b.id ? -1 : 1)
        .map(({ transaction_status }) => transaction_status);
    },
  };
  return cards;
}
