/** A fake gateway over a real socket: the test decides the responses and sees the requests. */

import { createGatewayClient, type GatewayClientOptions } from "../../../core/gateway/client.ts";

export const SERVER_KEY = "SB-Mid-server-abc123cde456";
export const CLIENT_KEY = "SB-Mid-client-xyz789uvw012";

export interface Received {
  method: string;
  /** Path and query, exactly as received. */
  target: string;
  headers: Headers;
  body: string;
}

export interface FakeGateway extends AsyncDisposable {
  url: string;
  received: Received[];
}

export type Respond = (request: Received) => Response | Promise<Response>;

export function openFakeGateway(respond: Respond): FakeGateway {
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

/** Responds to each request with the next of these bodies, and then always with the last one. */
export function respondWith(...bodies: object[]): Respond {
  let count = 0;
  return () => Response.json(bodies[Math.min(count++, bodies.length - 1)]);
}

/** A client that retries without delay. Its deadlines never pass, unless `options` has a `wait`. */
export function clientFor(url: string, options: Partial<GatewayClientOptions> = {}) {
  return createGatewayClient({
    baseUrl: url,
    serverKey: SERVER_KEY,
    clientKey: CLIENT_KEY,
    wait: createWaits().wait,
    ...options,
  });
}

/** Timers for tests: deadlines pass when the test says so, delays between retries at once. */
export function createWaits() {
  const deadlines: (() => void)[] = [];
  const limits: number[] = [];
  const pauses: number[] = [];
  return {
    /** The delays between retries, in ms. */
    pauses,
    /**
     * The deadlines, in ms. `wait` treats 10 seconds or more as a deadline, and less as a delay.
     */
    limits,
    /** Lets every current deadline pass. */
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

/** A TCP server for invalid responses: resets, half a response, garbage, silence. */
export function openRawServer(
  handle: (connection: Deno.TcpConn, number: number) => Promise<void> | void,
): { url: string; connections: () => number } & AsyncDisposable {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  let count = 0;
  const accepting = (async () => {
    for await (const connection of listener) {
      open.add(connection);
      // Errors are expected: tests close connections that the server uses.
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
    // Already closed.
  }
}

/** Waits for the first packet of a request, and sends these bytes. */
export async function sendBytes(
  connection: Deno.TcpConn,
  bytes: string | Uint8Array,
): Promise<void> {
  await connection.read(new Uint8Array(65_536));
  let rest = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
  while (rest.length > 0) rest = rest.subarray(await connection.write(rest));
}
