/** Listens to what PostgreSQL tells on a channel, over a connection of its own. */

import postgres from "postgres";
import { DatabaseUnavailable } from "./database.ts";
import { waitAtMost } from "../concurrency/deadlines.ts";

export interface ListenOptions {
  url: string;
  channel: string;
  /** Something was told; or may have been, while nobody listened. */
  onNews(): void;
  /** The connection is lost, or does not come about; it is tried again. */
  onError(error: unknown): void;
}

/** A connection that died without a word is found out by asking. */
const CHECK_MS = 5_000;

/** A connection that is not answered for so long never will be. */
const PATIENCE_MS = 2_000;

const RETRY_MS = 500;

export function listen(options: ListenOptions): AsyncDisposable {
  const over = Promise.withResolvers<void>();
  let isOver = false;

  async function keepListening(): Promise<void> {
    while (!isOver) {
      try {
        await listenOnce(options, over.promise);
      } catch (error) {
        if (!isOver) options.onError(error);
      }
      await waitAtMost(RETRY_MS, over.promise);
    }
  }

  const listening = keepListening();
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      over.resolve();
      await listening;
    },
  };
}

/**
 * A driver's own for each connection: its `listen` does not come back from every loss, and cannot be
 * asked whether it still hears.
 */
async function listenOnce(
  { url, channel, onNews }: ListenOptions,
  over: Promise<void>,
): Promise<void> {
  let isOver = false;
  const lost = Promise.withResolvers<never>();
  const ending = Promise.race([lost.promise, over.then(() => isOver = true)]);
  const settings = {
    max: 1,
    max_lifetime: null,
    connect_timeout: PATIENCE_MS / 1_000,
    fetch_types: false,
    onnotice: () => {},
    onnotify: () => onNews(),
    onclose: () => lost.reject(new DatabaseUnavailable("The connection that listens is lost")),
    connection: { application_name: "payment-gateway events" },
  };
  const sql = postgres(url, settings);
  try {
    await Promise.race([answered(sql.unsafe(`listen ${channel}`)), ending]);
    if (!isOver) onNews();
    while (!isOver) {
      await waitAtMost(CHECK_MS, ending);
      if (!isOver) await Promise.race([answered(sql.unsafe("select 1")), ending]);
    }
  } finally {
    await sql.end({ timeout: 0 });
  }
}

async function answered(query: Promise<unknown>): Promise<void> {
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const refusal = new DatabaseUnavailable(`No answer from the database within ${PATIENCE_MS} ms`);
  const timer = setTimeout(() => reject(refusal), PATIENCE_MS);
  try {
    await Promise.race([query, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
