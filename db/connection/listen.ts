/** Receives the signals (NOTIFY) of a PostgreSQL channel, over its own connection. */

import { keepConnection } from "./kept_connection.ts";

export interface ListenOptions {
  url: string;
  /** Shown by the server as the name of the connection. */
  name: string;
  channel: string;
  /** A signal arrived, or may have been missed while there was no connection. */
  onSignal(): void;
  /** The connection is lost or could not be made; the service connects again. */
  onError(error: unknown): void;
}

/** How often a statement is sent, because only this shows that a connection is dead. */
const CHECK_MS = 5_000;

const RESPONSE_TIMEOUT_MS = 2_000;

const RETRY_MS = 500;

export function listen({ url, name, channel, onSignal, onError }: ListenOptions): AsyncDisposable {
  return keepConnection({
    url,
    name,
    responseTimeoutMs: RESPONSE_TIMEOUT_MS,
    retryMs: () => RETRY_MS,
    onSignal,
    onError,
    async use({ sql, run, wait, isStopped }) {
      await run(sql.unsafe(`listen ${channel}`));
      onSignal();
      while (!isStopped()) {
        await wait(CHECK_MS);
        if (!isStopped()) await run(sql.unsafe("select 1"));
      }
    },
  });
}
