/**
 * Carries the gateway's notifications to the service, badly: it loses some, sends some twice or
 * late, so that they overtake each other, and adds forged ones.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../sandbox/engine/random.ts";
import type { Hook } from "../../tests/support/gateway/sandbox.ts";
import { MUTATIONS } from "../../tests/support/simulation/mutations.ts";

export interface Courier {
  /** Accepts a notification of the gateway. */
  accept(hook: Hook): void;
  /** From now on loses, repeats, delays and forges nothing. */
  behave(): void;
  /** Resolves when every accepted notification is delivered or lost. */
  untilDelivered(): Promise<void>;
  /** What happened to how many notifications. */
  counts: { delivered: number; lost: number; doubled: number; forged: number };
  /** Answers that a notification must not get. */
  wrongAnswers: string[];
}

export interface CourierOptions {
  /** The URLs of the instances. */
  urls: readonly string[];
  random: Random;
}

/** Of a hundred notifications. */
const [LOST, DOUBLED, LATE, FORGED] = [10, 10, 30, 20];

const LATEST_MS = 3_000;
const RETRY_MS = 300;
const ATTEMPT_MS = 30_000;

/** A forged notification names a payment that no order has. */
const OTHER_PAYMENT = {
  id: "01a1f037-75cd-7464-b354-7cb7bc664f24",
  order_id: "another-order",
  transaction_id: "8c0bd2f4-6a3c-4f43-9a55-0d9d5c4a8b11",
};

export function createCourier({ urls, random }: CourierOptions): Courier {
  const running = new Set<Promise<void>>();
  let isBad = true;
  const courier: Courier = {
    counts: { delivered: 0, lost: 0, doubled: 0, forged: 0 },
    wrongAnswers: [],
    accept({ body }) {
      const { counts } = courier;
      if (happens(LOST)) {
        counts.lost++;
        return;
      }
      track(deliver(JSON.stringify(body), [200]));
      if (happens(DOUBLED)) {
        counts.doubled++;
        track(deliver(JSON.stringify(body), [200]));
      }
      if (happens(FORGED)) {
        counts.forged++;
        const mutation = MUTATIONS[random.below(MUTATIONS.length)]!;
        const forged = mutation.change(body, OTHER_PAYMENT);
        // Some changes of the unsigned members make it invalid, and some leave it as it was.
        track(deliver(JSON.stringify(forged), mutation.isRefused ? [400, 403, 429] : [200, 400]));
      }
    },
    behave: () => void (isBad = false),
    async untilDelivered() {
      while (running.size > 0) await Promise.all(running);
    },
  };
  return courier;

  function happens(ofHundred: number): boolean {
    return isBad && random.below(100) < ofHundred;
  }

  function track(work: Promise<void>): void {
    running.add(work);
    work.finally(() => running.delete(work));
  }

  /** Repeats until the service answers, as the gateway does, but sooner. */
  async function deliver(body: string, expected: number[]): Promise<void> {
    if (happens(LATE)) await delay(random.below(LATEST_MS));
    for (;;) {
      const status = await post(`${urls[random.below(urls.length)]}/notification/`, body);
      if (status !== 0 && status !== 503) {
        courier.counts.delivered++;
        if (!expected.includes(status)) courier.wrongAnswers.push(`${status} for ${body}`);
        return;
      }
      await delay(RETRY_MS);
    }
  }
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
