/**
 * A program that posts webhooks that fail in one way, and prints how many bytes of memory each post
 * keeps. It needs `--v8-flags=--expose-gc`: garbage does not count. Arguments: the way, and how
 * many posts are measured.
 */

import { createPoster, type PosterOptions } from "../../../core/posting/post.ts";

const WARM_UP = 200;
const CONCURRENCY = 50;

/** Nothing listens on this port. */
const CLOSED_PORT = 2;

const [way = "", count = ""] = Deno.args;
using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });

/** With `silent`, the system accepts the connection, and no server ever reads from it. */
const WAYS: Record<string, { port: number; error: string } & Partial<PosterOptions>> = {
  refused: { port: CLOSED_PORT, error: "The connection was refused" },
  "refused by two addresses": {
    port: CLOSED_PORT,
    error: "The connection was refused",
    resolve: () => Promise.resolve(["127.0.0.1", "127.0.0.2"]),
  },
  unresolved: {
    port: CLOSED_PORT,
    error: "The host name does not resolve",
    resolve: () => Promise.reject(new Error("not found")),
  },
  silent: { port: silent.addr.port, error: "No response within 0.1 s", timeoutMs: 100 },
};

const { port, error: expectedError, ...options } = WAYS[way]!;
await using poster = createPoster({
  allowPrivate: true,
  resolve: () => Promise.resolve(["127.0.0.1"]),
  ...options,
});
const url = `https://hooks.test:${port}/`;

async function postMany(total: number): Promise<number> {
  let remaining = total;
  await Promise.all(Array.from({ length: CONCURRENCY }, async () => {
    while (remaining-- > 0) {
      const { error } = await poster.post({ url, headers: {}, body: new Uint8Array(1_000) });
      if (error !== expectedError) throw new Error(`Unexpected result: ${error}`);
    }
  }));
  (globalThis as unknown as { gc(): void }).gc();
  return Deno.memoryUsage().heapUsed;
}

const before = await postMany(WARM_UP);
const after = await postMany(Number(count));
console.log(Math.round((after - before) / Number(count)));
Deno.exit();
