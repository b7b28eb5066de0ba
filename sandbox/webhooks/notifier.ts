/** Tells the merchant what happens: writes webhooks down, sends them, tries again. */

import type { PayAccount } from "../accounts/account.ts";
import type { Transaction } from "../transactions/transaction.ts";
import { notification } from "../transactions/views.ts";
import { sign } from "../transactions/signature.ts";
import type { World } from "../world/world.ts";
import { retriesAfter, waitBefore } from "./retry.ts";
import { send } from "./send.ts";
import type { Notifier, Webhook } from "./webhook.ts";

/** So many are on their way at once; the others wait. */
const MAX_SENDING = 50;
/** Older ones are forgotten, once nothing more is to come of them. */
const MAX_KEPT = 20_000;

export function createNotifier(world: Omit<World, "notifier">): Notifier {
  const stop = new AbortController();
  const underWay = new Set<Promise<void>>();
  /** What is sent of one transaction goes out in its order; the gateway tries to, too. */
  const lines = new Map<string, Promise<void>>();
  const held = new Set<string>();
  const places: (() => void)[] = [];
  let sending = 0;
  for (const webhook of [...world.webhooks.newest()].reverse()) {
    if (webhook.state === "held") held.add(webhook.id);
    // What an earlier run wrote down and did not get to.
    if (webhook.state === "waiting" && webhook.nextAt === null) enqueue(webhook);
  }

  function write(fields: Pick<Webhook, "transactionId" | "cause" | "event" | "url" | "payload">) {
    const fault = world.faults.takeForWebhook(fields.cause);
    const webhook = world.webhooks.put({
      ...fields,
      id: world.random.uuid(),
      createdAt: world.clock.now(),
      state: fault === "webhook_lost"
        ? "lost"
        : fault === "webhook_out_of_order"
        ? "held"
        : "waiting",
      nextAt: null,
      attempts: [],
    });
    forgetOldest();
    if (webhook.state === "held") held.add(webhook.id);
    if (webhook.state === "waiting") enqueue(webhook, fault === "webhook_twice" ? 2 : 1);
  }

  function enqueue(webhook: Webhook, times = 1) {
    const line = webhook.transactionId ?? webhook.url;
    const before = lines.get(line) ?? Promise.resolve();
    const sent = before.then(async () => {
      for (let time = 0; time < times; time++) await attempt(webhook.id);
      release(webhook.transactionId);
    }).finally(() => {
      underWay.delete(sent);
      if (lines.get(line) === sent) lines.delete(line);
    });
    lines.set(line, sent);
    underWay.add(sent);
  }

  async function attempt(id: string): Promise<void> {
    // Nobody is told of what could still be forgotten.
    await world.committed().catch(() => {});
    // After the answer that is being written right now, as far as that can be told.
    await new Promise((resolve) => setTimeout(resolve));
    if (sending >= MAX_SENDING) await new Promise<void>((resolve) => places.push(resolve));
    sending++;
    try {
      const webhook = world.webhooks.get(id);
      if (!webhook || stop.signal.aborted) return;
      const at = world.clock.now();
      const outcome = await send(webhook.url, webhook.payload, stop.signal);
      if (stop.signal.aborted) return;
      record(world.webhooks.get(id) ?? webhook, { at, ...outcome });
    } finally {
      sending--;
      places.shift()?.();
    }
  }

  function record(webhook: Webhook, outcome: Webhook["attempts"][number]) {
    const attempts = [...webhook.attempts, outcome];
    const retries = retriesAfter(outcome.status);
    if (retries === null || webhook.state === "delivered") {
      world.webhooks.put({ ...webhook, attempts, state: "delivered", nextAt: null });
    } else if (attempts.length > retries) {
      world.webhooks.put({ ...webhook, attempts, state: "failed", nextAt: null });
    } else {
      const wait = waitBefore(attempts.length, chanceOf(webhook.id, attempts.length));
      const nextAt = world.clock.now() + wait;
      world.webhooks.put({ ...webhook, attempts, state: "waiting", nextAt });
    }
  }

  /** Lets go what was held back, of one transaction or of all. */
  function release(transactionId?: string | null) {
    for (const id of held) {
      const webhook = world.webhooks.get(id);
      if (transactionId !== undefined && webhook?.transactionId !== transactionId) continue;
      held.delete(id);
      if (webhook) enqueue(world.webhooks.put({ ...webhook, state: "waiting" }));
    }
  }

  function forgetOldest() {
    if (world.webhooks.size <= MAX_KEPT) return;
    const oldest = world.webhooks.oldest()!;
    if (oldest.state !== "waiting") world.webhooks.delete(oldest.id);
  }

  return {
    transaction(transaction, cause) {
      const addresses = addressesFor(world, transaction);
      if (addresses.length === 0) return;
      const payload = JSON.stringify(notification(world, transaction));
      const { id: transactionId, status: event } = transaction;
      for (const url of addresses) write({ transactionId, cause, event, url, payload });
    },
    recurring(body, event) {
      const url = world.settings.recurring_notification_url;
      const payload = JSON.stringify(body);
      if (url) write({ transactionId: null, cause: "subscription", event, url, payload });
    },
    account(account) {
      const url = world.settings.pay_account_notification_url;
      const payload = JSON.stringify(accountNotification(world, account));
      const event = account.status.toLowerCase();
      if (url) write({ transactionId: null, cause: "account", event, url, payload });
    },
    resend: (webhook) => enqueue(webhook),
    retry: (webhook) => enqueue(world.webhooks.put({ ...webhook, nextAt: null })),
    release: () => release(),
    async idle() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
    async close() {
      stop.abort();
      await Promise.all(underWay);
    },
  };
}

function addressesFor(world: Pick<World, "settings">, { notify }: Transaction): string[] {
  if (notify.override.length > 0) return notify.override;
  const own = world.settings.notification_url;
  return [...own ? [own] : [], ...notify.append];
}

/**
 * From 0 to 1, by the webhook's own id: an answer comes when it comes, and were chance drawn then,
 * the ids that follow would depend on it.
 */
function chanceOf(id: string, attempt: number): number {
  return parseInt(id.replaceAll("-", "").slice(attempt, attempt + 7), 16) / 16 ** 7;
}

/** No page documents this signature; receivers have to ask for the account anyway (G§9.1). */
function accountNotification(world: Pick<World, "merchant">, { id, status }: PayAccount) {
  const isLinked = status === "ENABLED";
  const statusCode = isLinked ? "200" : "204";
  return {
    account_id: id,
    merchant_id: world.merchant.id,
    payment_type: "gopay",
    signature_key: sign(id, status, statusCode, world.merchant.serverKey),
    status_code: statusCode,
    account_status: status,
    status_message: `Midtrans account_${isLinked ? "linked" : "unlinked"} notification`,
  };
}
