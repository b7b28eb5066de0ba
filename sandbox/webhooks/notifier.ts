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

type NotifierWorld = Omit<World, "notifier">;

interface NotifierState {
  world: NotifierWorld;
  onError(error: unknown): void;
  stopping: AbortSignal;
  /** Deliveries that are queued or running, with the ids of their webhooks. */
  inFlight: Map<Promise<void>, string>;
  /** Webhooks of one transaction are delivered in order, as the gateway tries to do. */
  queues: Map<string, Promise<void>>;
  held: Set<string>;
  slots: ReturnType<typeof createSlots>;
  /** Deliveries caused by the function that `trackDeliveries` is running. */
  caused: Promise<void>[] | null;
}

export function createNotifier(
  world: NotifierWorld,
  onError: (error: unknown) => void,
): Notifier {
  const stop = new AbortController();
  const notifier: NotifierState = {
    world,
    onError,
    stopping: stop.signal,
    inFlight: new Map(),
    queues: new Map(),
    held: new Set(),
    slots: createSlots(MAX_SENDING),
    caused: null,
  };
  const idle = async () => {
    await Promise.all(notifier.inFlight.keys());
  };
  return {
    ...createNotifications(notifier),
    resend(webhook) {
      notifier.held.delete(webhook.id);
      enqueue(notifier, world.webhooks.put({ ...webhook, tries: 0 }));
    },
    retry: (webhook) => enqueue(notifier, world.webhooks.put({ ...webhook, nextAt: null })),
    release: () => release(notifier),
    resume: () => resume(notifier),
    trackDeliveries(work) {
      const outer = notifier.caused;
      const deliveries: Promise<void>[] = notifier.caused = [];
      try {
        return { result: work(), delivered: Promise.all(deliveries).then(() => {}) };
      } finally {
        notifier.caused = outer;
      }
    },
    idle,
    async close() {
      stop.abort();
      await idle();
    },
  };
}

/** The functions that create the webhooks of each kind of record. */
function createNotifications(
  notifier: NotifierState,
): Pick<Notifier, "notifyTransaction" | "notifySubscription" | "notifyAccount"> {
  const { world } = notifier;
  return {
    notifyTransaction(transaction, cause) {
      const urls = urlsFor(world, transaction);
      if (urls.length === 0) return;
      const payload = JSON.stringify(notification(world, transaction));
      const { id: transactionId, status: event } = transaction;
      for (const url of urls) {
        createWebhook(notifier, { transactionId, cause, event, url, payload });
      }
    },
    notifySubscription(body, event) {
      const url = world.settings.recurring_notification_url;
      if (!url) return;
      const payload = JSON.stringify(body);
      const cause = "subscription";
      createWebhook(notifier, { transactionId: null, cause, event, url, payload });
    },
    notifyAccount(account) {
      const url = world.settings.pay_account_notification_url;
      if (!url) return;
      const payload = JSON.stringify(accountNotification(world, account));
      const event = account.status.toLowerCase();
      createWebhook(notifier, { transactionId: null, cause: "account", event, url, payload });
    },
  };
}

function createWebhook(
  notifier: NotifierState,
  fields: Pick<Webhook, "transactionId" | "cause" | "event" | "url" | "payload">,
) {
  const { world, held } = notifier;
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
  if (webhook.state === "waiting") enqueue(notifier, webhook, fault === "webhook_twice" ? 2 : 1);
}

function enqueue(notifier: NotifierState, webhook: Webhook, times = 1) {
  const { queues, inFlight } = notifier;
  const queueKey = webhook.transactionId ?? webhook.url;
  const before = queues.get(queueKey) ?? Promise.resolve();
  const sent = before.then(async () => {
    for (let time = 1; time <= times; time++) await attempt(notifier, webhook, time === 1);
    release(notifier, webhook.transactionId);
  }).catch(notifier.onError).finally(() => {
    inFlight.delete(sent);
    if (queues.get(queueKey) === sent) queues.delete(queueKey);
  });
  queues.set(queueKey, sent);
  inFlight.set(sent, webhook.id);
  notifier.caused?.push(sent);
}

async function attempt(
  { world, slots, stopping }: NotifierState,
  { id, url }: Webhook,
  isCounted: boolean,
): Promise<void> {
  const isCommitted = await world.committed().then(() => true, () => false);
  // Lets the response of the current request go out first, if possible.
  await new Promise((resolve) => setTimeout(resolve));
  const release = await slots.acquire(url);
  try {
    const webhook = world.webhooks.get(id);
    // If the event was rolled back, the merchant must not be notified.
    if (!webhook || !isCommitted || stopping.aborted) return;
    const at = world.clock.now();
    const outcome = await send(webhook.url, webhook.payload, stopping);
    if (stopping.aborted) return;
    recordAttempt(world, world.webhooks.get(id) ?? webhook, { at, ...outcome }, isCounted);
  } finally {
    release();
  }
}

function recordAttempt(
  world: NotifierWorld,
  webhook: Webhook,
  outcome: Attempt,
  isCounted: boolean,
) {
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
function release(notifier: NotifierState, transactionId?: string | null) {
  const { world, held } = notifier;
  for (const id of held) {
    const webhook = world.webhooks.get(id);
    if (transactionId !== undefined && webhook?.transactionId !== transactionId) continue;
    held.delete(id);
    if (webhook) enqueue(notifier, world.webhooks.put({ ...webhook, state: "waiting" }));
  }
}

/** Delivers the stored webhooks that wait: at the start, and after a rollback undid changes. */
function resume(notifier: NotifierState): void {
  const { world, inFlight, held } = notifier;
  for (const { id } of [...world.webhooks.find("state:held")].reverse()) held.add(id);
  const known = new Set(inFlight.values());
  for (const webhook of [...world.webhooks.find("state:waiting")].reverse()) {
    if (webhook.nextAt === null && !known.has(webhook.id)) enqueue(notifier, webhook);
  }
}

function urlsFor(world: Pick<World, "settings">, { notify }: Transaction): string[] {
  const own = world.settings.notification_url;
  const urls = notify.override.length > 0
    ? notify.override
    : [...own ? [own] : [], ...notify.append];
  return [...new Set(urls)].filter((url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ""));
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
