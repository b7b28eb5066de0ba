/** A TCP proxy that can cut, silence, hold and restore connections. */

export interface TcpProxy extends AsyncDisposable {
  port: number;
  /** Closes all connections and refuses new ones. */
  cut(): void;
  /** Accepts connections and bytes, and forwards nothing. */
  silence(): void;
  /** Holds packets with this text until `restore`; resolves when one arrives. */
  hold(text: string): Promise<void>;
  /** Accepts connections and closes them at once, as a server does that is still starting. */
  closeNewConnections(): void;
  /** Ends all of these faults. */
  restore(): void;
}

export function openTcpProxy(target: { hostname: string; port: number }): TcpProxy {
  const hostname = "127.0.0.1";
  let listener: Deno.TcpListener | null = Deno.listen({ hostname, port: 0 });
  const { port } = listener.addr;
  const open = new Set<Deno.TcpConn>();
  const running = new Set<Promise<void>>();
  let silent = false;
  let closesNewConnections = false;
  let held: { text: string; arrived(): void } | null = null;
  let restored = Promise.withResolvers<void>();

  function track(work: Promise<void>) {
    running.add(work);
    work.finally(() => running.delete(work));
  }

  async function accept(listener: Deno.TcpListener) {
    try {
      for await (const near of listener) track(join(near));
    } catch {
      // Closed.
    }
  }

  async function join(near: Deno.TcpConn) {
    if (closesNewConnections) {
      near.close();
      return;
    }
    open.add(near);
    const far = await Deno.connect(target);
    open.add(far);
    await Promise.all([pump(near, far), pump(far, near)]);
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
        if (!silent) await to.write(bytes);
      }
    } catch {
      // Cut.
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
      silent = true;
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
      silent = false;
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
