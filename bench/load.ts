/** Loads a server over a few connections, cheaply enough that the server is what is measured. */

export interface Load {
  url: string;
  headers?: Record<string, string>;
  connections: number;
  seconds: number;
}

/**
 * Requests a second. All answers of one load are of one length, so that counting their bytes counts
 * them; that each is a 200 is checked on the first.
 */
export async function requestsPerSecond(load: Load): Promise<number> {
  const { hostname, port, pathname } = new URL(load.url);
  const headers = Object.entries(load.headers ?? {}).map(([name, value]) =>
    `${name}: ${value}\r\n`
  );
  const request = `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\n${headers.join("")}\r\n`;
  const bytes = new TextEncoder().encode(request);
  const until = performance.now() + load.seconds * 1000;

  async function drive(): Promise<number> {
    using connection = await Deno.connect({ hostname, port: Number(port) });
    connection.setNoDelay();
    const buffer = new Uint8Array(65_536);
    await connection.write(bytes);
    const length = await connection.read(buffer) ?? 0;
    const answer = new TextDecoder().decode(buffer.subarray(0, length));
    if (!answer.startsWith("HTTP/1.1 200")) throw new Error(`No 200: ${answer}`);

    let answers = 0;
    while (performance.now() < until) {
      await connection.write(bytes);
      for (let missing = length; missing > 0;) {
        const n = await connection.read(buffer);
        if (n === null) throw new Error("The server closed the connection");
        missing -= n;
        if (missing < 0) throw new Error("The answers differ in length");
      }
      answers++;
    }
    return answers;
  }

  const counts = await Promise.all(Array.from({ length: load.connections }, drive));
  return counts.reduce((sum, count) => sum + count) / load.seconds;
}
