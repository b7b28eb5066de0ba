/** A merchant's server that receives webhooks and can misbehave in many ways. */

import { Buffer } from "node:buffer";
import { setTimeout as delay } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { freePort } from "../free_port.ts";
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from "./test_certificate.ts";

export interface ReceivedWebhook {
  /** Counts from 1. */
  number: number;
  /** The number of the connection, from 1. */
  connection: number;
  method: string;
  path: string;
  /** The names are in lower case. */
  headers: Record<string, string>;
  /** The received bytes. */
  body: Uint8Array;
}

/**
 * A response of the receiver:
 *
 * - an object: this status (default 200) with this body and these headers. A redirect is
 *   `{ status: 307, headers: { location } }`.
 * - `raw`: these bytes and nothing after them; the connection stays open.
 * - `hang`: no byte.
 * - `close`: no byte, and the connection is closed.
 * - `cut`: a 200 whose connection is closed in the middle of the body.
 * - `trickle`: a 200 whose body arrives byte by byte and never ends.
 * - `endless`: a 200 whose body never ends.
 */
export type ReceiverAnswer =
  | { status?: number; body?: string | Uint8Array; headers?: Record<string, string> }
  | { raw: string }
  | "hang"
  | "close"
  | "cut"
  | "trickle"
  | "endless";

export type Respond = (request: ReceivedWebhook) => ReceiverAnswer | Promise<ReceiverAnswer>;

export interface WebhookReceiver extends AsyncDisposable {
  url: string;
  port: number;
  /** All webhooks received so far, in order. */
  received: ReceivedWebhook[];
  /** The number of open connections. */
  connections(): number;
  /** Sets the response, or a function that chooses it for each webhook. Default: 200. */
  answer(how: ReceiverAnswer | Respond): void;
  /** Closes every connection and refuses new ones, until `up` listens on the same port again. */
  down(): void;
  up(): void;
}

/** With `tls`, clients have to trust `TEST_CERTIFICATE`. */
export function openWebhookReceiver({ tls = false } = {}): WebhookReceiver {
  const hostname = "127.0.0.1";
  const received: ReceivedWebhook[] = [];
  const open = new Set<Deno.Conn>();
  const running = new Set<Promise<void>>();
  const closing = Promise.withResolvers<"close">();
  let accepted = 0;
  let respond: Respond = () => ({});
  let listener: Deno.Listener<Deno.Conn> | null = listen(freePort());
  const port = (listener.addr as Deno.NetAddr).port;

  function listen(port: number): Deno.Listener<Deno.Conn> {
    const opened = tls
      ? Deno.listenTls({ hostname, port, cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY })
      : Deno.listen({ hostname, port });
    track(accept(opened));
    return opened;
  }

  function track(work: Promise<void>) {
    running.add(work);
    work.finally(() => running.delete(work));
  }

  async function accept(listener: Deno.Listener<Deno.Conn>) {
    try {
      for await (const connection of listener) track(serve(connection, ++accepted));
    } catch {
      // The listener is closed.
    }
  }

  async function serve(connection: Deno.Conn, number: number) {
    open.add(connection);
    try {
      for await (const request of readRequests(connection)) {
        const webhook = { ...request, number: received.length + 1, connection: number };
        received.push(webhook);
        const answer = await Promise.race([respond(webhook), closing.promise]);
        if (!await write(connection, answer)) break;
      }
    } catch {
      // The client has closed the connection, or `down` was called.
    }
    drop(connection);
  }

  function drop(connection: Deno.Conn) {
    if (open.delete(connection)) connection.close();
  }

  const receiver: WebhookReceiver = {
    url: `${tls ? "https" : "http"}://${hostname}:${port}/webhooks`,
    port,
    received,
    connections: () => open.size,
    answer(how) {
      respond = typeof how === "function" ? how : () => how;
    },
    down() {
      listener?.close();
      listener = null;
      for (const connection of open) drop(connection);
    },
    up() {
      listener ??= listen(port);
    },
    async [Symbol.asyncDispose]() {
      closing.resolve("close");
      receiver.down();
      await Promise.all(running);
    },
  };
  return receiver;
}

/** The verified content; throws if the signature is invalid. */
export function verifyWebhook(secret: string, { body, headers }: ReceivedWebhook): unknown {
  return new Webhook(secret).verify(Buffer.from(body), headers);
}

type Request = Omit<ReceivedWebhook, "number" | "connection">;

async function* readRequests(connection: Deno.Conn): AsyncGenerator<Request> {
  let bytes: Uint8Array = new Uint8Array();
  const chunk = new Uint8Array(16_384);
  async function readMore(): Promise<boolean> {
    const length = await connection.read(chunk);
    if (length !== null) bytes = Buffer.concat([bytes, chunk.subarray(0, length)]);
    return length !== null;
  }

  while (true) {
    const headEnd = () => Buffer.from(bytes).indexOf("\r\n\r\n");
    while (headEnd() === -1) if (!await readMore()) return;
    const end = headEnd();
    const [first = "", ...lines] = decoder.decode(bytes.subarray(0, end)).split("\r\n");
    const headers = Object.fromEntries(lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }));
    const bodyEnd = end + 4 + Number(headers["content-length"] ?? 0);
    while (bytes.length < bodyEnd) if (!await readMore()) return;
    const [method = "", path = ""] = first.split(" ");
    yield { method, path, headers, body: bytes.slice(end + 4, bodyEnd) };
    bytes = bytes.slice(bodyEnd);
  }
}

/** Returns whether the connection stays open. */
async function write(connection: Deno.Conn, answer: ReceiverAnswer): Promise<boolean> {
  const sendBytes = (text: string) => writeAll(connection, encoder.encode(text));
  switch (answer) {
    case "close":
      return false;
    case "hang":
      return true;
    case "cut":
      await sendBytes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf an ans");
      return false;
    case "trickle":
      await sendBytes("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
      for (;;) {
        await sendBytes(".");
        await delay(20);
      }
    case "endless":
      await sendBytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      for (;;) await sendBytes(`1000\r\n${"e".repeat(0x1000)}\r\n`);
  }
  if ("raw" in answer) {
    await sendBytes(answer.raw);
    return true;
  }
  const { status = 200, headers = {} } = answer;
  const body = Buffer.from(answer.body ?? "");
  const lines = Object.entries({ ...headers, "Content-Length": String(body.length) })
    .map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${status} Status\r\n${lines.join("")}\r\n`;
  await writeAll(connection, Buffer.concat([Buffer.from(head), body]));
  return true;
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array) {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
