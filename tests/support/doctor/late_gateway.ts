/** A gateway whose clock is wrong: forwards to the sandbox, and changes the time of responses. */

export interface LateGateway extends AsyncDisposable {
  /** The address of this gateway, which forwards to `url`. */
  inFrontOf(url: string): string;
}

export function openLateGateway(offsetMs: number): LateGateway {
  let target = "";
  const listening = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const server = Deno.serve(listening, async (request) => {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const body = method === "GET" ? null : await request.text();
    const response = await fetch(target + pathname + search, { method, headers, body });
    const changed = new Headers(response.headers);
    changed.set("Date", new Date(Date.now() + offsetMs).toUTCString());
    return new Response(await response.text(), { status: response.status, headers: changed });
  });
  return {
    inFrontOf(url) {
      target = url;
      return `http://127.0.0.1:${server.addr.port}`;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
