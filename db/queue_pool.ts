/** Connections for the queue, whose library knows no other driver than its own. */

// @ts-types="@types/pg"
import type { Pool, PoolClient } from "pg";
import { waitAtMost } from "../concurrency/deadlines.ts";

export interface QueuePool extends AsyncDisposable {
  pool: Pool;
  /** Gives up on the connections there are. */
  drop(): void;
}

export interface QueuePoolOptions {
  url: string;
  size: number;
  onError(error: Error): void;
}

/** A connection that is not answered for so long never will be. */
const PATIENCE_MS = 5_000;

/** How long it takes to hang up where the other end may be gone. */
const END_MS = 1_000;

export async function openQueuePool({ url, size, onError }: QueuePoolOptions): Promise<QueuePool> {
  // Only where there is such a queue.
  // @ts-types="@types/pg"
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({
    connectionString: inLibpqsWords(url),
    max: size,
    connectionTimeoutMillis: PATIENCE_MS,
    query_timeout: PATIENCE_MS,
    application_name: "payment-gateway queue",
  });
  const clients = new Set<PoolClient>();
  pool.on("error", onError);
  pool.on("connect", (client) => {
    clients.add(client);
    client.on("error", onError);
  });
  pool.on("remove", (client) => clients.delete(client));

  return {
    pool,
    drop() {
      for (const client of clients) client.end().catch(() => {});
      clients.clear();
    },
    [Symbol.asyncDispose]: () => waitAtMost(END_MS, pool.end()),
  };
}

/** `sslmode=require` asks for no certificate that somebody known has signed; this driver would. */
function inLibpqsWords(url: string): string {
  const address = new URL(url);
  const { searchParams } = address;
  if (searchParams.get("sslmode") === "require") searchParams.set("uselibpqcompat", "true");
  return address.href;
}
