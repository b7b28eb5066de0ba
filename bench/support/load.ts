/** Sends load over a few connections with little overhead, so that the figures show the server. */

export interface Load {
  url: string;
  /** The bytes of the n-th request. All responses must have the same length. */
  request: (n: number) => string;
  connections: number;
  /** The load ends after this time, or earlier if `requests` is set and all of them are sent. */
  seconds: number;
  requests?: number;
  /** The number of the first request, for requests that must not repeat. */
  first?: number;
}

/** For `Load.request`: returns a function that gives the same GET request for every `n`. */
export function getRequest(url: string, headers: Record<string, string> = {}): () => string {
  const request = `${head("GET", url, headers)}\r\n`;
  return () => request;
}

export function post(url: string, headers: Record<string, string>, body: object): string {
  return postText(url, headers, JSON.stringify(body));
}

export function postText(url: string, headers: Record<string, string>, text: string): string {
  const bodyHeaders = { "Content-Type": "application/json", "Content-Length": String(text.length) };
  return `${head("POST", url, { ...headers, ...bodyHeaders })}\r\n${text}`;
}

function head(method: string, url: string, headers: Record<string, string>): string {
  const { host, pathname, search } = new URL(url);
  const lines = Object.entries({ Host: host, ...headers }).map(([name, value]) =>
    `${name}: ${value}\r\n`
  );
  return `${method} ${pathname}${search} HTTP/1.1\r\n${lines.join("")}`;
}

/**
 * Requests per second. All responses have the same length, so counting bytes counts responses. The
 * status is checked in the first response of each connection.
 */
export async function requestsPerSecond(load: Load): Promise<number> {
  const { hostname, port } = new URL(load.url);
  const encoder = new TextEncoder();
  const begin = performance.now();
  const until = begin + load.seconds * 1000;
  const first = load.first ?? 0;
  const last = first + (load.requests ?? Infinity);
  let sent = first;

  async function sendOverConnection(): Promise<number> {
    using connection = await Deno.connect({ hostname, port: Number(port) });
    connection.setNoDelay();
    const buffer = new Uint8Array(65_536);
    await write(connection, encoder.encode(load.request(sent++)));
    const length = await readFirst(connection, buffer);

    let responses = 1;
    while (sent < last && performance.now() < until) {
      await write(connection, encoder.encode(load.request(sent++)));
      for (let remaining = length; remaining > 0;) {
        const n = await connection.read(buffer);
        if (n === null) throw new Error("The server closed the connection");
        remaining -= n;
        if (remaining < 0) throw new Error("The responses differ in length");
      }
      responses++;
    }
    return responses;
  }

  const counts = await Promise.all(Array.from({ length: load.connections }, sendOverConnection));
  const seconds = (performance.now() - begin) / 1000;
  return counts.reduce((sum, count) => sum + count) / seconds;
}

/** Reads the first response and returns its length. */
async function readFirst(connection: Deno.Conn, buffer: Uint8Array): Promise<number> {
  let response = "";
  while (true) {
    const n = await connection.read(buffer);
    if (n === null) throw new Error("The server closed the connection");
    // latin1 has one character per byte; the body may be compressed.
    response += new TextDecoder("latin1").decode(buffer.subarray(0, n));
    if (!response.startsWith("HTTP/1.1 200")) throw new Error(`Expected 200: ${response}`);
    const body = response.indexOf("\r\n\r\n") + 4;
    const length = body + Number(response.match(/content-length: (\d+)/i)?.[1]);
    if (body > 3 && response.length >= length) return length;
  }
}

async function write(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let from = 0; from < bytes.length;) from += await connection.write(bytes.subarray(from));
}
