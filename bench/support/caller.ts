/** A caller with one connection and little overhead, so that the figures measure the server. */

import { setTimeout as delay } from "node:timers/promises";
import { post } from "./load.ts";

export interface Caller extends Disposable {
  /** Sends a request and reads the whole response; returns its head. */
  send(request: string): Promise<string>;
}

/** Larger than the head of any response. */
const BUFFER_BYTES = 262_144;

export async function connect(url: string): Promise<Caller> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  connection.setNoDelay();
  const buffer = new Uint8Array(BUFFER_BYTES);

  async function read(): Promise<string> {
    let head = "";
    let end = Infinity;
    for (let filled = 0; filled < end;) {
      // The body is not kept.
      const n = await connection.read(head ? buffer : buffer.subarray(filled));
      if (n === null) throw new Error("The server closed the connection");
      filled += n;
      if (head) continue;
      const text = decoder.decode(buffer.subarray(0, filled));
      const length = text.indexOf("\r\n\r\n");
      if (length === -1) continue;
      head = text.slice(0, length);
      end = length + 4 + Number(head.match(/^content-length: (\d+)/im)?.[1]);
    }
    return head;
  }

  return {
    async send(request) {
      const bytes = encoder.encode(request);
      for (let from = 0; from < bytes.length;) {
        from += await connection.write(bytes.subarray(from));
      }
      return await read();
    },
    [Symbol.dispose]: () => connection.close(),
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The duration in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

/** The pause between two charges, so that the caller stays below its own rate limit. */
const PAUSE_MS = 10;

/** Sends charges for `ms` milliseconds and returns the latency of each. */
export async function measureCharges(
  caller: Caller,
  { url, apiKey, ms }: { url: string; apiKey: string; ms: number },
): Promise<number[]> {
  const charge = { payment_type: "gopay", gross_amount: 10_000 };
  const request = post(`${url}charge/`, { Authorization: `Bearer ${apiKey}` }, charge);
  const times: number[] = [];
  for (const end = performance.now() + ms; performance.now() < end;) {
    times.push(
      await timed(async () => {
        const head = await caller.send(request);
        if (!head.startsWith("HTTP/1.1 201")) throw new Error(`Expected 201: ${head}`);
      }),
    );
    await delay(PAUSE_MS);
  }
  return times;
}
