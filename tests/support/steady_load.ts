/**
 * Callers that charge, read and pay through a proxy all the time, and what they got. The proxy adds
 * headers and answers with its own errors, which are not in the document.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { TestSandbox } from "./gateway/sandbox.ts";

export type RequestKind = "read" | "charge with a key" | "charge without a key";

export interface Failure {
  kind: RequestKind;
  /** What happened to the instances meanwhile. */
  phase: string;
  text: string;
}

export interface SteadyLoad {
  /** Named in failures. */
  phase: string;
  /** First attempts. */
  requests: Record<RequestKind, number>;
  /** Requests without the expected response at the first attempt. */
  failures: Failure[];
  /** The payments of charges that were answered, at the first attempt or a later one. */
  payments: Set<string>;
  /** The longest time between two successful requests, in ms. */
  longestGap: number;
  /** Resolves when all requests have ended, repeated ones as well. */
  stop(): Promise<void>;
}

export interface LoadOptions {
  url: string;
  key: string;
  sandbox: TestSandbox;
  callers: number;
  /** The pause of each caller between two requests. */
  pauseMs: number;
}

const RETRY_MS = 200;

const CHARGE = JSON.stringify({
  payment_type: "bank_transfer",
  bank: "bca",
  gross_amount: 44_000,
});

export function startLoad({ url, key, sandbox, callers, pauseMs }: LoadOptions): SteadyLoad {
  let isStopped = false;
  let lastSuccess = performance.now();
  const authorization = { Authorization: `Bearer ${key}` };

  /** Null: no usable response; the failure is noted if this is the first attempt. */
  async function send(kind: RequestKind, path: string, init: RequestInit, isFirst = true) {
    const { phase } = load;
    let text: string;
    try {
      const response = await fetch(url + path, init);
      text = await response.text();
      if (response.ok) {
        load.longestGap = Math.max(load.longestGap, performance.now() - lastSuccess);
        lastSuccess = performance.now();
        return JSON.parse(text);
      }
      text = `${response.status} ${text.slice(0, 200)}`;
    } catch (error) {
      text = String(error);
    }
    if (isFirst) load.failures.push({ kind, phase: `${phase}, ${load.phase}`, text });
    return null;
  }

  async function charge(kind: RequestKind): Promise<void> {
    const idempotencyKey = kind === "charge with a key"
      ? { "Idempotency-Key": crypto.randomUUID() }
      : null;
    const headers = { ...authorization, "Content-Type": "application/json", ...idempotencyKey };
    const init = { method: "POST", headers, body: CHARGE };
    let payment = await send(kind, "/charge/", init);
    while (!payment && idempotencyKey) {
      await delay(RETRY_MS);
      payment = await send(kind, "/charge/", init, false);
    }
    if (!payment) return;
    load.payments.add(payment.id);
    // The gateway notifies the service, through the proxy.
    await sandbox.control(`transactions/${payment.transaction_id}/pay`);
  }

  async function call(first: number): Promise<void> {
    for (let turn = first; !isStopped; turn++) {
      const kind = KINDS[turn % KINDS.length]!;
      load.requests[kind]++;
      if (kind === "read") {
        await send(kind, "/payments/?limit=1", { headers: authorization });
      } else await charge(kind);
      await delay(pauseMs);
    }
  }

  const load: SteadyLoad = {
    phase: "nothing",
    requests: { read: 0, "charge with a key": 0, "charge without a key": 0 },
    failures: [],
    payments: new Set(),
    longestGap: 0,
    async stop() {
      isStopped = true;
      await calling;
    },
  };
  const calling = Promise.all(Array.from({ length: callers }, (_, index) => call(index)));
  return load;
}

const KINDS: RequestKind[] = [
  "read",
  "charge with a key",
  "read",
  "charge without a key",
];

export interface FollowedEvents extends AsyncDisposable {
  /** In the order in which they arrived. */
  ids: string[];
  /** How often the stream was opened. */
  connections: number;
}

/** Follows the stream of events; after each break continues after the last event. */
export function followEvents(url: string, key: string): FollowedEvents {
  let isStopped = false;
  let lastId: string | null = null;
  let reader: ReadableStreamDefaultReader<Uint8Array> | null = null;

  async function readOnce(): Promise<void> {
    const headers = new Headers({ Authorization: `Bearer ${key}` });
    if (lastId) headers.set("Last-Event-ID", lastId);
    const response = await fetch(`${url}/events/stream/`, { headers });
    if (response.status !== 200) return await response.body?.cancel();
    followed.connections++;
    reader = response.body!.getReader();
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (text + decoder.decode(value, { stream: true })).split("\n\n");
      text = blocks.pop()!;
      for (const block of blocks) {
        const [, id, name] = block.match(/^id: (\S+)(?:\nevent: (\S+))?/) ?? [];
        if (id) lastId = id;
        if (id && name) followed.ids.push(id);
      }
    }
  }

  async function keepReading(): Promise<void> {
    while (!isStopped) {
      // A killed instance breaks the stream; nginx answers 502 while it knows no instance.
      await readOnce().catch(() => {});
      await delay(RETRY_MS);
    }
  }

  const followed: FollowedEvents = {
    ids: [],
    connections: 0,
    async [Symbol.asyncDispose]() {
      isStopped = true;
      await reader?.cancel().catch(() => {});
      await reading;
    },
  };
  const reading = keepReading();
  return followed;
}
