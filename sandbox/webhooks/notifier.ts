/** Tells the merchant what happens: writes webhooks down, sends them, tries again. */

import { notification } from "../charges/responses.ts";
import { SECOND } from "../engine/time.ts";
import { sign } from "../transactions/signature.ts";
import type { PayAccount } from "../world/records.ts";
import type { Transaction } from "../world/transaction.ts";
import type { Attempt, Notifier, Webhook } from "../world/webhook.ts";
import type { World } from "../world/world.ts";
import { retriesAfter, send, waitBefore } from "./deliver.ts";

/** So many are on their way at once; the others wait. */
const MAX_SENDING = 50;
/** Older ones are forgotten, once nothing more is to come of them. */
const MAX_KEPT = 20_000;
const FORGOTTEN_AT_ONCE = 100;
/** The retries of one webhook and more resends than anybody reads. */
const MAX_ATTEMPTS_KEPT = 50;
const PATIENCE_WITH_THE_DISK = 10 * SECOND;

export function createNotifier(
  world: Omit<World, "notifier">,
  onMistake: (error: unknown) => void,
): Notifier {
  const stop = new AbortController();
  const underWay = new Set<Promise<void>>();
  /** What is sent of one transaction goes out in its order; the gateway tries to, too. */
  const lines = new Map<string, Promise<void>>();
  const held = new Set<string>();
  /** Those whose cause could not be written to disk yet. */
  const unkept = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const places: (() => void)[] = [];
  let sending = 0;
  /** What is being caused by the work that runs right now. */
  let caused: Promise<void>[] | null = null;
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
      tries: 0,
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
      for (let time = 1; time <= times; time++) await attempt(webhook.id, time === 1);
      release(webhook.transactionId);
    }).catch(onMistake).finally(() => {
      underWay.delete(sent);
      if (lines.get(line) === sent) lines.delete(line);
    });
    lines.set(line, sent);
    underWay.add(sent);
    caused?.push(sent);
  }

  async function attempt(id: string, counts: boolean): Promise<void> {
    const isKept = await world.committed().then(() => true, () => false);
    // After the answer that is being written right now, as far as that can be told.
    await new Promise((resolve) => setTimeout(resolve));
    if (sending < MAX_SENDING) sending++;
    else await new Promise<void>((resolve) => places.push(resolve));
    try {
      const webhook = world.webhooks.get(id);
      if (!webhook || stop.signal.aborted) return;
      const at = world.clock.now();
      // Nobody is told of what could still be forgotten.
      if (!isKept) return tryLater(id);
      const outcome = await send(webhook.url, webhook.payload, stop.signal);
      if (stop.signal.aborted) return;
      record(world.webhooks.get(id) ?? webhook, { at, ...outcome }, counts);
    } finally {
      // The place is handed over, so that nobody slips in between.
      const next = places.shift();
      if (next) next();
      else sending--;
    }
  }

  /** By the world's clock: the disk does not know the sandbox's. */
  function tryLater(id: string) {
    unkept.add(id);
    timer ??= setTimeout(() => {
      timer = undefined;
      const webhooks = [...unkept].flatMap((each) => world.webhooks.get(each) ?? []);
      unkept.clear();
      for (const webhook of webhooks) enqueue(webhook);
    }, PATIENCE_WITH_THE_DISK);
  }

  function record(webhook: Webhook, outcome: Attempt, counts: boolean) {
    const tries = webhook.tries + (counts ? 1 : 0);
    const attempts = [...webhook.attempts, outcome].slice(-MAX_ATTEMPTS_KEPT);
    const tried = { ...webhook, tries, attempts };
    const retries = retriesAfter(outcome.status);
    if (retries === null || webhook.state === "delivered") {
      world.webhooks.put({ ...tried, state: "delivered", nextAt: null });
    } else if (!counts) {
      world.webhooks.put(tried);
    } else if (tries > retries) {
      world.webhooks.put({ ...tried, state: "failed", nextAt: null });
    } else {
      const nextAt = world.clock.now() + waitBefore(tries, chanceOf(webhook.id, tries));
      world.webhooks.put({ ...tried, state: "waiting", nextAt });
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

  /** Not each time: where many wait for a receiver that is away, all of them are stepped over. */
  function forgetOldest() {
    let surplus = world.webhooks.size - MAX_KEPT;
    if (surplus < FORGOTTEN_AT_ONCE || surplus % FORGOTTEN_AT_ONCE !== 0) return;
    for (const { id, state } of world.webhooks.oldest()) {
      if (surplus <= 0) return;
      if (state === "waiting" || state === "held") continue;
      world.webhooks.delete(id);
      surplus--;
    }
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
    resend(webhook) {
      held.delete(webhook.id);
      enqueue(world.webhooks.put({ ...webhook, tries: 0 }));
    },
    retry: (webhook) => enqueue(world.webhooks.put({ ...webhook, nextAt: null })),
    release: () => release(),
    during(work) {
      const outer = caused;
      const mine: Promise<void>[] = caused = [];
      try {
        return { result: work(), told: Promise.all(mine).then(() => {}) };
      } finally {
        caused = outer;
      }
    },
    async idle() {
      await Promise.all(underWay);
    },
    async close() {
      stop.abort();
      clearTimeout(timer);
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
