/**
 * Carries the gateway's notifications to the service, badly: it loses some, sends some twice or
 * late, so that they overtake each other, and adds forged ones.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../sandbox/engine/random.ts";
import type { Hook, Json } from "../../tests/support/gateway/sandbox.ts";
import { type Mutation, MUTATIONS } from "../../tests/support/simulation/mutations.ts";

/** When it is disposed, it gives up what the service has not answered, and accepts nothing more. */
export interface Courier extends AsyncDisposable {
  /** Accepts a notification of the gateway. */
  accept(hook: Hook): void;
  /** From now on loses, duplicates, delays and forges nothing. */
  stopFaults(): void;
  /** Resolves when every accepted notification is delivered or lost. */
  untilDelivered(): Promise<void>;
  /** How often each happened. Reordered: a newer notification was delivered before it. */
  counts: {
    delivered: number;
    lost: number;
    duplicated: number;
    reordered: number;
    forged: number;
  };
  /** The genuine notifications that the service has answered with 200. */
  accepted: AcceptedNotification[];
  /** Answers that a notification must not get. */
  wrongAnswers: string[];
}

/** The service has taken responsibility: the gateway does not send the notification again. */
export interface AcceptedNotification {
  orderId: string;
  transactionId: string;
  status: string;
  refundKeys: string[];
}

export interface CourierOptions {
  /** The URLs of the instances. */
  urls: readonly string[];
  random: Random;
}

/** The percentages of the notifications. */
const [LOST_PERCENT, DUPLICATED_PERCENT, LATE_PERCENT, FORGED_PERCENT] = [10, 10, 30, 20];

const LATEST_MS = 3_000;
const RETRY_MS = 300;
const ATTEMPT_MS = 30_000;

/** A forged notification names a payment that no order has. */
const OTHER_PAYMENT = {
  id: "01a1f037-75cd-7464-b354-7cb7bc664f24",
  order_id: "another-order",
  transaction_id: "8c0bd2f4-6a3c-4f43-9a55-0d9d5c4a8b11",
};

/** The ends without a payment. The gateway signs the same code for each of them. */
const ENDS = ["deny", "cancel", "expire"];

/** The service believes this forgery: docs/decisions/what-a-notification-may-change.md. */
function exchangesEnds(body: Json, { change }: Mutation): boolean {
  const forged = change(body, OTHER_PAYMENT);
  return [body, forged].every(({ transaction_status }) => ENDS.includes(transaction_status)) &&
    body.transaction_status !== forged.transaction_status;
}

export function createCourier({ urls, random }: CourierOptions): Courier {
  const running = new Set<Promise<unknown>>();
  let acceptedCount = 0;
  /** By transaction, the number of the newest notification that was delivered. */
  const newestDelivered = new Map<string, number>();
  let hasFaults = true;
  let isClosed = false;
  const courier: Courier = {
    counts: { delivered: 0, lost: 0, duplicated: 0, reordered: 0, forged: 0 },
    accepted: [],
    wrongAnswers: [],
    accept({ body }) {
      if (isClosed) return;
      const { counts } = courier;
      const number = ++acceptedCount;
      if (happens(LOST_PERCENT)) {
        counts.lost++;
        return;
      }
      const isDuplicated = happens(DUPLICATED_PERCENT);
      if (isDuplicated) counts.duplicated++;
      for (let copies = isDuplicated ? 2 : 1; copies > 0; copies--) {
        track(deliverGenuine(body, number));
      }
      if (happens(FORGED_PERCENT)) {
        counts.forged++;
        const mutations = MUTATIONS.filter((each) => !exchangesEnds(body, each));
        const mutation = mutations[random.below(mutations.length)]!;
        const forged = mutation.change(body, OTHER_PAYMENT);
        // Some changes of the unsigned members make it invalid, and some leave it as it was.
        track(deliver(JSON.stringify(forged), mutation.isRefused ? [400, 403, 429] : [200, 400]));
      }
    },
    stopFaults: () => void (hasFaults = false),
    untilDelivered,
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await untilDelivered();
    },
  };
  return courier;

  async function untilDelivered(): Promise<void> {
    while (running.size > 0) await Promise.all(running);
  }

  function happens(percent: number): boolean {
    return hasFaults && random.below(100) < percent;
  }

  function track(work: Promise<unknown>): void {
    running.add(work);
    work.finally(() => running.delete(work));
  }

  /** `number`: newer notifications have higher numbers. */
  async function deliverGenuine(body: Json, number: number): Promise<void> {
    const status = await deliver(JSON.stringify(body), [200]);
    if (status !== 200) return;
    courier.accepted.push(readAccepted(body));
    const newest = newestDelivered.get(body.transaction_id) ?? 0;
    if (number < newest) courier.counts.reordered++;
    newestDelivered.set(body.transaction_id, Math.max(number, newest));
  }

  /** Repeats until the service answers, as the gateway does, but sooner. Returns the status. */
  async function deliver(body: string, expected: number[]): Promise<number> {
    if (happens(LATE_PERCENT)) await delay(random.below(LATEST_MS));
    for (;;) {
      const status = await post(`${urls[random.below(urls.length)]}/notification/`, body);
      if (status !== 0 && status !== 503) {
        courier.counts.delivered++;
        if (!expected.includes(status)) courier.wrongAnswers.push(`${status} for ${body}`);
        return status;
      }
      if (isClosed) return status;
      await delay(RETRY_MS);
    }
  }
}

function readAccepted(body: Json): AcceptedNotification {
  return {
    orderId: body.order_id,
    transactionId: body.transaction_id,
    status: body.transaction_status,
    refundKeys: (body.refunds ?? []).map(({ refund_key }: Json) => refund_key),
  };
}

/** The status; 0: no answer. */
async function post(url: string, body: string): Promise<number> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
      signal: AbortSignal.timeout(ATTEMPT_MS),
    });
    await response.body?.cancel();
    return response.status;
  } catch {
    return 0;
  }
}
