/** A proxy for the database, with a gate in each direction. */

import type { Gate } from "./gate.ts";

/** Bytes of one connection. */
export interface Packet {
  connection: number;
  bytes: Uint8Array;
}

export interface GatedDatabase extends AsyncDisposable {
  /** The URL that leads to the database through the proxy. */
  url: string;
}

export interface DatabaseGates {
  statements: Gate<Packet>;
  results: Gate<Packet>;
}

export function openGatedDatabase(
  databaseUrl: string,
  { statements, results }: DatabaseGates,
): GatedDatabase {
  const url = new URL(databaseUrl);
  const target = { hostname: url.hostname, port: Number(url.port) };
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  const forwarding = new Set<Promise<void>>();
  let count = 0;

  async function accept() {
    for await (const client of listener) {
      const work = forward(client, ++count).finally(() => forwarding.delete(work));
      forwarding.add(work);
    }
  }

  async function forward(client: Deno.TcpConn, connection: number) {
    const server = await Deno.connect(target);
    const both = [client, server];
    for (const each of both) open.add(each);
    await Promise.race([
      pump(client, server, connection, statements),
      pump(server, client, connection, results),
    ]).catch(() => {
      // A test killed the process at one end.
    });
    for (const each of both) drop(each);
  }

  function drop(connection: Deno.TcpConn) {
    if (open.delete(connection)) connection.close();
  }

  const accepting = accept();
  return {
    url: Object.assign(new URL(databaseUrl), { port: String(listener.addr.port) }).href,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting.catch(() => {});
      for (const connection of open) drop(connection);
      await Promise.all(forwarding);
    },
  };
}

/** Keeps reading while the gate holds packets, so that the test sees everything that was sent. */
async function pump(
  from: Deno.TcpConn,
  to: Deno.TcpConn,
  connection: number,
  gate: Gate<Packet>,
): Promise<void> {
  const buffer = new Uint8Array(65_536);
  let written = Promise.resolve();
  for (let n = await from.read(buffer); n !== null; n = await from.read(buffer)) {
    const bytes = buffer.slice(0, n);
    const passing = gate.pass({ connection, bytes });
    written = written.then(async () => {
      if (await passing) await writeAll(to, bytes);
    });
    // Awaited at the end; until then a rejection would count as unhandled.
    written.catch(() => {});
  }
  await written;
}

async function writeAll(to: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await to.write(rest));
}

/** The text of these packets, grouped by connection. */
export function textOf(packets: Packet[]): string {
  const byConnection = Map.groupBy(packets, ({ connection }) => connection);
  return [...byConnection.values()].map((own) => {
    const decoder = new TextDecoder();
    return own.map(({ bytes }) => decoder.decode(bytes, { stream: true })).join("");
  }).join("\n");
}
