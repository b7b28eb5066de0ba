/** Listens on a PostgreSQL notification channel, over its own connection. */

import postgres from "postgres";
import { waitAtMost } from "../concurrency/deadlines.ts";
import { DatabaseUnavailable } from "./database.ts";

export interface ListenOptions {
  url: string;
  channel: string;
  /** A notification arrived, or may have been missed while there was no connection. */
  onNotify(): void;
  /** The connection is lost or could not be made; it is retried. */
  onError(error: unknown): void;
}

/** A dead connection is only noticed by sending a statement. */
const CHECK_MS = 5_000;

/** A connection without a response for this long is considered dead. */
const RESPONSE_TIMEOUT_MS = 2_000;

const RETRY_MS = 500;

export function listen(options: ListenOptions): AsyncDisposable {
  const stop = Promise.withResolvers<void>();
  let isStopped = false;

  async function keepListening(): Promise<void> {
    while (!isStopped) {
      try {
        await listenOnce(options, stop.promise);
      } catch (error) {
        if (!isStopped) options.onError(error);
      }
      await waitAtMost(RETRY_MS, stop.promise);
    }
  }

  const listening = keepListening();
  return {
    async [Symbol.asyncDispose]() {
      isStopped = true;
      stop.resolve();
      await listening;
    },
  };
}

/**
 * Each connection has its own driver instance: the driver's `listen` does not recover from every loss,
 * and does not show whether it is still connected.
 */
async function listenOnce(
  { url, channel, onNotify }: ListenOptions,
  stopped: Promise<void>,
): Promise<void> {
  let isStopped = false;
  const lost = Promise.withResolvers<never>();
  const ending = Promise.race([lost.promise, stopped.then(() => isStopped = true)]);
  const settings = {
    max: 1,
    max_lifetime: null,
    connect_timeout: RESPONSE_TIMEOUT_MS / 1_000,
    fetch_types: false,
    onnotice: () => {},
    onnotify: () => onNotify(),
    onclose: () => lost.reject(new DatabaseUnavailable("The listening connection is lost")),
    connection: { application_name: "payment-gateway events" },
  };
  const sql = postgres(url, settings);
  try {
    await Promise.race([withResponseTimeout(sql.unsafe(`listen ${channel}`)), ending]);
    if (!isStopped) onNotify();
    while (!isStopped) {
      await waitAtMost(CHECK_MS, ending);
      if (!isStopped) await Promise.race([withResponseTimeout(sql.unsafe("select 1")), ending]);
    }
  } finally {
    await sql.end({ timeout: 0 });
  }
}

async function withResponseTimeout(query: Promise<unknown>): Promise<void> {
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const error = new DatabaseUnavailable(
    `No response from the database within ${RESPONSE_TIMEOUT_MS} ms`,
  );
  const timer = setTimeout(() => reject(error), RESPONSE_TIMEOUT_MS);
  try {
    await Promise.race([query, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
