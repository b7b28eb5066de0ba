/** Ports for servers that tests start, and that no server of another process gets meanwhile. */

/** Linux gives the ports from 32768 on to outgoing connections and to servers that name none. */
const [FIRST, LAST] = [20_000, 31_999];

/** The ports of one of several processes that run tests at the same time, as `FIRST-LAST`. */
export function portsOf(index: number, processes: number): string {
  const count = Math.floor((LAST - FIRST + 1) / processes);
  const first = FIRST + index * count;
  return `${first}-${first + count - 1}`;
}

const [first, last] = (Deno.env.get("TEST_PORTS") ?? portsOf(0, 1)).split("-").map(Number) as [
  number,
  number,
];

/** Random, because two runs on one machine have the same ranges. */
let next = first + Math.floor(Math.random() * (last - first + 1));

/**
 * A port on which nothing listens. A server that a test stops, or starts again, needs one: Linux
 * soon gives any other port to a server of another test, which then gets the requests.
 */
export function freePort(): number {
  for (;;) {
    const port = next;
    next = port === last ? first : port + 1;
    try {
      using _ = Deno.listen({ hostname: "127.0.0.1", port });
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}
