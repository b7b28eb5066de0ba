/** Finds a free port for a program that cannot choose one itself. */

/** Another process may take the port before the program does. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
