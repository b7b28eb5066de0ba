/** Finds a free port for a program that cannot choose one itself. */

/**
 * Below the ports that Linux gives to outgoing connections and to listeners without a port (32768
 * and above), so that other tests do not take the port before the program does.
 */
const [FIRST, LAST] = [20_000, 32_000];

export function freePort(): number {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    try {
      using _ = Deno.listen({ hostname: "127.0.0.1", port });
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}
