/** A proxy of the database with a gate in each direction. */

import type { Gate } from "./gate.ts";

/** Bytes of one connection. */
export interface Packet {
  connection: number;
  bytes: Uint8Array;
}

export interface DatabaseWire extends AsyncDisposable {
  /** The URL of the database behind the proxy. */
  url: string;
}

export interface WireGates {
  statements: Gate<Packet>;
  results: Gate<Packet>;
}

export function openDatabaseWire(
  databaseUrl: string,
  { statements, results }: WireGates,
): DatabaseWire {
  const far = new URL(databaseUrl);
  const target = { hostname: far.hostname, port: Number(far.port) };
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  const joined = new Set<Promise<void>>();
  let count = 0;

  async function accept() {
    for await (const near of listener) {
      const work = join(near, ++count).finally(() => joined.delete(work));
      joined.add(work);
    }
  }

  async function join(near: Deno.TcpConn, connection: number) {
    const server = await Deno.connect(target);
    const both = [near, server];
    for (const each of both) open.add(each);
    await Promise.race([
      pump(near, server, connection, statements),
      pump(server, near, connection, results),
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
      await Promise.all(joined);
    },
  };
}

/** Keeps reading while the gate is shut, so that the test sees everything that was sent. */
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
