/** A gateway that says what a test wants it to, over a real socket, and remembers what it was asked. */

import { createGatewayClient, type GatewayClientOptions } from "../../../core/gateway/client.ts";

export const SERVER_KEY = "SB-Mid-server-abc123cde456";
export const CLIENT_KEY = "SB-Mid-client-xyz789uvw012";

export interface Received {
  method: string;
  /** Path and query, byte for byte. */
  target: string;
  headers: Headers;
  body: string;
}

export interface FakeGateway extends AsyncDisposable {
  url: string;
  received: Received[];
}

export type Respond = (request: Received) => Response | Promise<Response>;

export function openGateway(respond: Respond): FakeGateway {
  const received: Received[] = [];
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const server = Deno.serve(options, async (request) => {
    const body = await request.text();
    const target = request.url.slice(new URL(request.url).origin.length);
    const each = { method: request.method, target, headers: request.headers, body };
    received.push(each);
    return await respond(each);
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    received,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Answers each request with the next of these bodies, and with the last one from then on. */
export function answering(...bodies: object[]): Respond {
  let count = 0;
  return () => Response.json(bodies[Math.min(count++, bodies.length - 1)]);
}

/** A client whose waits between tries take no time; deadlines never come unless asked for. */
export function clientFor(url: string, options: Partial<GatewayClientOptions> = {}) {
  return createGatewayClient({
    baseUrl: url,
    serverKey: SERVER_KEY,
    clientKey: CLIENT_KEY,
    wait: createWaits().wait,
    ...options,
  });
}

/** Time in a test's hands: deadlines pass when it says so, pauses between tries at once. */
export function createWaits() {
  const deadlines: (() => void)[] = [];
  const limits: number[] = [];
  const pauses: number[] = [];
  return {
    /** How long each pause between two tries would have been. */
    pauses,
    /** How long each operation may take; in tests no less than 10 seconds, which no pause takes. */
    limits,
    /** Every deadline that still runs is over now. */
    passDeadlines: () => deadlines.splice(0).forEach((pass) => pass()),
    wait(ms: number, signal: AbortSignal): Promise<void> {
      if (ms < 10_000) {
        pauses.push(ms);
        return Promise.resolve();
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      limits.push(ms);
      deadlines.push(resolve);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      return promise;
    },
  };
}

/** A server that does to each connection what it is told: resets, half an answer, garbage, silence. */
export function openRawServer(
  handle: (connection: Deno.TcpConn, number: number) => Promise<void> | void,
): { url: string; connections: () => number } & AsyncDisposable {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  let count = 0;
  const accepting = (async () => {
    for await (const connection of listener) {
      open.add(connection);
      // Errors are the test's own doing: it closes connections under its server.
      Promise.resolve(handle(connection, ++count)).catch(() => {});
    }
  })();
  return {
    url: `http://127.0.0.1:${listener.addr.port}`,
    connections: () => count,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) close(connection);
      await accepting.catch(() => {});
    },
  };
}

export function close(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch {
    // It is closed.
  }
}

/** Waits for a request, as far as one packet brings it, and sends these bytes. */
export async function say(connection: Deno.TcpConn, bytes: string | Uint8Array): Promise<void> {
  await connection.read(new Uint8Array(65_536));
  let rest = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
  while (rest.length > 0) rest = rest.subarray(await connection.write(rest));
}
