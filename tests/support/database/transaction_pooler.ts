/**
 * A proxy that can exchange the sessions of two connections, as a pooler in transaction mode does.
 */

export interface TransactionPooler extends AsyncDisposable {
  /** The URL of the database behind the pooler. */
  url: string;
  /** Exchanges the sessions of the two connections that are open. Call it while both are idle. */
  exchangeSessions(): void;
}

interface Pair {
  client: Deno.TcpConn;
  server: Deno.TcpConn;
}

export function openTransactionPooler(databaseUrl: string): TransactionPooler {
  const url = new URL(databaseUrl);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const pairs: Pair[] = [];
  const working = new Set<Promise<void>>();

  async function accept() {
    for await (const client of listener) {
      const server = await Deno.connect({ hostname: url.hostname, port: Number(url.port) });
      pairs.push({ client, server });
      const pairOf = (end: Deno.TcpConn) =>
        pairs.find((pair) => pair.client === end || pair.server === end);
      track(pump(client, () => pairOf(client)?.server));
      track(pump(server, () => pairOf(server)?.client));
    }
  }

  function track(work: Promise<void>) {
    working.add(work);
    work.finally(() => working.delete(work));
  }

  /** When one end closes, so does the other. */
  async function pump(from: Deno.TcpConn, to: () => Deno.TcpConn | undefined) {
    const buffer = new Uint8Array(65_536);
    try {
      for (let n = await from.read(buffer); n !== null; n = await from.read(buffer)) {
        await to()?.write(buffer.subarray(0, n));
      }
    } catch {
      // The connection is closed.
    }
    const index = pairs.findIndex(({ client, server }) => client === from || server === from);
    for (const pair of index === -1 ? [] : pairs.splice(index, 1)) close(pair);
  }

  function close({ client, server }: Pair) {
    client.close();
    server.close();
  }

  const accepting = accept().catch(() => {});
  return {
    url: Object.assign(new URL(databaseUrl), { port: String(listener.addr.port) }).href,
    exchangeSessions() {
      const [first, second] = pairs;
      if (!first || !second) throw new Error("Fewer than two connections are open");
      [first.server, second.server] = [second.server, first.server];
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      for (const pair of pairs.splice(0)) close(pair);
      await Promise.all(working);
    },
  };
}
