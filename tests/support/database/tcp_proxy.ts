/** A TCP proxy that can cut, silence, hold and restore connections. */

import { freePort } from "../free_port.ts";
import "./stray_errors.ts";

export interface TcpProxy extends AsyncDisposable {
  port: number;
  /** Closes all connections and refuses new ones. */
  cut(): void;
  /** Accepts connections and bytes, and forwards nothing. */
  silence(): void;
  /** Holds packets that contain this text until `restore`; resolves when the first one arrives. */
  hold(text: string): Promise<void>;
  /** Accepts connections and closes them at once, like a server that is still starting. */
  closeNewConnections(): void;
  /** Ends all of these faults. */
  restore(): void;
}

export function openTcpProxy(target: { hostname: string; port: number }): TcpProxy {
  const hostname = "127.0.0.1";
  const port = freePort();
  let listener: Deno.TcpListener | null = Deno.listen({ hostname, port });
  const open = new Set<Deno.TcpConn>();
  const running = new Set<Promise<void>>();
  let isSilent = false;
  let closesNewConnections = false;
  let held: { text: string; arrived(): void } | null = null;
  let restored = Promise.withResolvers<void>();

  function track(work: Promise<void>) {
    running.add(work);
    work.finally(() => running.delete(work));
  }

  async function accept(listener: Deno.TcpListener) {
    try {
      for await (const client of listener) track(forward(client));
    } catch {
      // The listener is closed.
    }
  }

  async function forward(client: Deno.TcpConn) {
    if (closesNewConnections) {
      client.close();
      return;
    }
    open.add(client);
    const server = await Deno.connect(target);
    open.add(server);
    await Promise.all([pump(client, server), pump(server, client)]);
  }

  async function pump(from: Deno.TcpConn, to: Deno.TcpConn) {
    const buffer = new Uint8Array(16_384);
    try {
      for (let n = await from.read(buffer); n !== null; n = await from.read(buffer)) {
        const bytes = buffer.slice(0, n);
        if (held && new TextDecoder().decode(bytes).includes(held.text)) {
          held.arrived();
          await restored.promise;
        }
        if (!isSilent) await to.write(bytes);
      }
    } catch {
      // The connection is closed.
    }
    drop(from);
    drop(to);
  }

  function drop(connection: Deno.TcpConn) {
    if (open.delete(connection)) connection.close();
  }

  track(accept(listener));
  const proxy = {
    port,
    cut() {
      listener?.close();
      listener = null;
      for (const connection of open) drop(connection);
    },
    silence() {
      isSilent = true;
    },
    hold(text: string) {
      const arrival = Promise.withResolvers<void>();
      restored = Promise.withResolvers();
      held = { text, arrived: arrival.resolve };
      return arrival.promise;
    },
    closeNewConnections() {
      closesNewConnections = true;
    },
    restore() {
      isSilent = false;
      closesNewConnections = false;
      held = null;
      restored.resolve();
      if (listener) return;
      listener = Deno.listen({ hostname, port });
      track(accept(listener));
    },
    async [Symbol.asyncDispose]() {
      proxy.cut();
      restored.resolve();
      await Promise.all(running);
    },
  };
  return proxy;
}

/** The same database behind a proxy. */
export function throughProxy(databaseUrl: string): { proxy: TcpProxy; url: string } {
  const url = new URL(databaseUrl);
  const proxy = openTcpProxy({ hostname: url.hostname, port: Number(url.port) });
  url.port = String(proxy.port);
  return { proxy, url: url.href };
}
