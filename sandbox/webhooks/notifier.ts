/** Notifies the merchant: creates webhooks, delivers them in order, and retries. */

import { notification } from "../charges/responses.ts";
import { sign } from "../transactions/signature.ts";
import type { PayAccount } from "../world/records.ts";
import type { Transaction } from "../world/transaction.ts";
import type { Attempt, Notifier, Webhook } from "../world/webhook.ts";
import type { World } from "../world/world.ts";
import { retriesFor, retryDelay, send } from "./deliver.ts";
import { createSlots } from "./slots.ts";

/** Maximum number of concurrent deliveries. */
const MAX_SENDING = { perReceiver: 50, total: 500 };
const MAX_STORED_ATTEMPTS = 50;

export function createNotifier(
  world: Omit<World, "notifier">,
  onError: (error: unknown) => void,
): Notifier {
  const stop = new AbortController();
  /** Deliveries that are queued or running, with the ids of their webhooks. */
  const inFlight = new Map<Promise<void>, string>();
  /** Webhooks of one transaction are delivered in order, as the gateway tries to do. */
  const queues = new Map<string, Promise<void>>();
  const held = new Set<string>();
  const slots = createSlots(MAX_SENDING);
  /** Deliveries caused by the function that `trackDeliveries` is running. */
  let caused: Promise<void>[] | null = null;

  function createWebhook(
    fields: Pick<Webhook, "transactionId" | "cause" | "event" | "url" | "payload">,
  ) {
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
      tries: 0,
      attempts: [],
    });
    if (webhook.state === "held") held.add(webhook.id);
    if (webhook.state === "waiting") enqueue(webhook, fault === "webhook_twice" ? 2 : 1);
  }

  function enqueue(webhook: Webhook, times = 1) {
    const queueKey = webhook.transactionId ?? webhook.url;
    const before = queues.get(queueKey) ?? Promise.resolve();
    const sent = before.then(async () => {
      for (let time = 1; time <= times; time++) await attempt(webhook, time === 1);
      release(webhook.transactionId);
    }).catch(onError).finally(() => {
      inFlight.delete(sent);
      if (queues.get(queueKey) === sent) queues.delete(queueKey);
    });
    queues.set(queueKey, sent);
    inFlight.set(sent, webhook.id);
    caused?.push(sent);
  }

  async function attempt({ id, url }: Webhook, isCounted: boolean): Promise<void> {
    const isCommitted = await world.committed().then(() => true, () => false);
    // Lets the response of the current request go out first, if possible.
    await new Promise((resolve) => setTimeout(resolve));
    const release = await slots.acquire(url);
    try {
      const webhook = world.webhooks.get(id);
      // If the event was rolled back, the merchant must not be notified.
      if (!webhook || !isCommitted || stop.signal.aborted) return;
      const at = world.clock.now();
      const outcome = await send(webhook.url, webhook.payload, stop.signal);
      if (stop.signal.aborted) return;
      recordAttempt(world.webhooks.get(id) ?? webhook, { at, ...outcome }, isCounted);
    } finally {
      release();
    }
  }

  function recordAttempt(webhook: Webhook, outcome: Attempt, isCounted: boolean) {
    const tries = webhook.tries + (isCounted ? 1 : 0);
    const attempts = [...webhook.attempts, outcome].slice(-MAX_STORED_ATTEMPTS);
    const tried = { ...webhook, tries, attempts };
    const retries = retriesFor(outcome.status);
    if (retries === null || webhook.state === "delivered") {
      world.webhooks.put({ ...tried, state: "delivered", nextAt: null });
    } else if (!isCounted) {
      world.webhooks.put(tried);
    } else if (tries > retries) {
      world.webhooks.put({ ...tried, state: "failed", nextAt: null });
    } else {
      const nextAt = world.clock.now() + retryDelay(tries, jitterFor(webhook.id, tries));
      world.webhooks.put({ ...tried, state: "waiting", nextAt });
    }
  }

  /** Delivers the held webhooks of one transaction, or all held webhooks. */
  function release(transactionId?: string | null) {
    for (const id of held) {
      const webhook = world.webhooks.get(id);
      if (transactionId !== undefined && webhook?.transactionId !== transactionId) continue;
      held.delete(id);
      if (webhook) enqueue(world.webhooks.put({ ...webhook, state: "waiting" }));
    }
  }

  return {
    notifyTransaction(transaction, cause) {
      const urls = urlsFor(world, transaction);
      if (urls.length === 0) return;
      const payload = JSON.stringify(notification(world, transaction));
      const { id: transactionId, status: event } = transaction;
      for (const url of urls) createWebhook({ transactionId, cause, event, url, payload });
    },
    notifySubscription(body, event) {
      const url = world.settings.recurring_notification_url;
      const payload = JSON.stringify(body);
      if (url) createWebhook({ transactionId: null, cause: "subscription", event, url, payload });
    },
    notifyAccount(account) {
      const url = world.settings.pay_account_notification_url;
      const payload = JSON.stringify(accountNotification(world, account));
      const event = account.status.toLowerCase();
      if (url) createWebhook({ transactionId: null, cause: "account", event, url, payload });
    },
    resend(webhook) {
      held.delete(webhook.id);
      enqueue(world.webhooks.put({ ...webhook, tries: 0 }));
    },
    retry: (webhook) => enqueue(world.webhooks.put({ ...webhook, nextAt: null })),
    release: () => release(),
    resume() {
      for (const { id } of [...world.webhooks.find("state:held")].reverse()) held.add(id);
      const known = new Set(inFlight.values());
      for (const webhook of [...world.webhooks.find("state:waiting")].reverse()) {
        if (webhook.nextAt === null && !known.has(webhook.id)) enqueue(webhook);
      }
    },
    trackDeliveries(work) {
      const outer = caused;
      const deliveries: Promise<void>[] = caused = [];
      try {
        return { result: work(), delivered: Promise.all(deliveries).then(() => {}) };
      } finally {
        caused = outer;
      }
    },
    async idle() {
      await Promise.all(inFlight.keys());
    },
    async close() {
      stop.abort();
      await Promise.all(inFlight.keys());
    },
  };
}

function urlsFor(world: Pick<World, "settings">, { notify }: Transaction): string[] {
  const own = world.settings.notification_url;
  const urls = notify.override.length > 0
    ? notify.override
    : [...own ? [own] : [], ...notify.append];
  return urls.filter((url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ""));
}

/**
 * From 0 to 1, derived from the webhook's id. `world.random` cannot be used: responses arrive in
 * any order, and the ids that it generates later would depend on that order.
 */
function jitterFor(id: string, attempt: number): number {
  return parseInt(id.replaceAll("-", "").slice(attempt, attempt + 7), 16) / 16 ** 7;
}

/** The gateway does not document this signature: receivers must query the account instead. */
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
