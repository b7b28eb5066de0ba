/**
 * Opens the sockets of a driver. If a server, or a proxy that has no server, closes a connection
 * before it sends anything, the driver alone would connect again at once, hundreds of times a
 * second, and report no error.
 */

import { Socket } from "node:net";
import { sleep } from "../../concurrency/deadlines.ts";

/** The pause after a connection that was closed before the server sent anything. */
const PAUSE_MS = 200;

/** What the driver passes. */
interface Address {
  host: string[];
  port: number[];
}

/**
 * The driver's option `socket`, which its types lack. After the signal, no socket is opened: a
 * driver that was closed during the pause would still connect after it.
 */
export function pacedSocket(ended: AbortSignal): object {
  let pauseUntil = 0;
  async function socket({ host: [host], port: [port] }: Address): Promise<Socket> {
    const pauseMs = pauseUntil - performance.now();
    if (pauseMs > 0) await sleep(pauseMs, ended);
    ended.throwIfAborted();
    const opened = new Socket();
    opened.once("close", () => {
      if (opened.bytesRead === 0) pauseUntil = performance.now() + PAUSE_MS;
    });
    opened.connect(port!, host!);
    // The driver reads the host: TLS compares it with the server's certificate.
    return Object.assign(opened, { host, port });
  }
  return { socket };
}
