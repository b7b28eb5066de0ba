/**
 * Keeps a connection open that has a database session of its own: for signals (NOTIFY), and for
 * locks that last as long as the session. Opens a new one if the connection is lost.
 */

import postgres from "postgres";
import { pause, unlessAborted, waitAtMost, withTimeLimit } from "../../concurrency/deadlines.ts";
import { DatabaseUnavailable } from "./errors.ts";
import { pacedSocket } from "./paced_socket.ts";
import { findPrimary } from "./primary.ts";

export interface KeptConnectionOptions {
  /** Must not lead to a connection pooler in transaction mode. */
  url: string;
  /** Shown by the server as the name of the connection. */
  name: string;
  /** Applied by a statement, because connection poolers refuse them as start-up parameters. */
  settings?: Record<string, string | number>;
  /** Whether the server keeps the plans of statements; default: true. */
  prepare?: boolean;
  /** A connection without a response for this long is considered dead. */
  responseTimeoutMs: number;
  /** The pause before the next connection. */
  retryMs(error: unknown): number;
  /** A signal (NOTIFY) arrived. */
  onSignal?(): void;
  /** Works with the connection until `isStopped` returns true. */
  use(connection: KeptConnection): Promise<void>;
  /** The connection could not be opened, was lost, or `use` failed. */
  onError(error: unknown): void;
}

export interface KeptConnection {
  sql: postgres.Sql;
  /** Rejects if the connection is lost or does not respond in time. */
  run<T>(statement: Promise<T>): Promise<T>;
  /**
   * Resolves when the time is up, the connection is stopped, or `earlier` resolves. Rejects
   * if the connection is lost.
   */
  wait(ms: number, earlier?: Promise<void>): Promise<void>;
  isStopped(): boolean;
}

/** How long the end of a connection waits until it is closed. */
const CLOSE_MS = 1_000;

/** After this time the service sends TCP keepalive probes, to detect a server that vanished. */
const KEEP_ALIVE_SECONDS = 4;

export function keepConnection(options: KeptConnectionOptions): AsyncDisposable {
  const { retryMs, onError } = options;
  const stop = new AbortController();

  async function keepTrying(): Promise<void> {
    while (!stop.signal.aborted) {
      const error = await openOnce(options, stop.signal).then(() => null, (error) => error);
      if (error && !stop.signal.aborted) onError(error);
      await pause(retryMs(error), [stop.signal]);
    }
  }

  const trying = keepTrying();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await trying;
    },
  };
}

/** Each connection has its own driver: a driver that reconnects would lose the locks unnoticed. */
async function openOnce(
  { url, name, settings = {}, prepare = true, responseTimeoutMs, onSignal, use }:
    KeptConnectionOptions,
  stopped: AbortSignal,
): Promise<void> {
  const primary = await findPrimary(url);
  const [lost, ended] = [new AbortController(), new AbortController()];
  const onReplaced = () =>
    lost.abort(new DatabaseUnavailable(`The server of the connection "${name}" was replaced`));
  primary.replaced.addEventListener("abort", onReplaced);
  const closed = Promise.withResolvers<void>();
  let isOpen = false;
  const driverOptions = {
    ...pacedSocket(ended.signal),
    max: 1,
    max_lifetime: null,
    connect_timeout: 2,
    keep_alive: KEEP_ALIVE_SECONDS,
    fetch_types: false,
    prepare,
    onnotice: () => {},
    onnotify: () => onSignal?.(),
    onclose() {
      lost.abort(new DatabaseUnavailable(`The connection "${name}" is lost`));
      closed.resolve();
    },
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
    connection: { application_name: name },
  };
  const sql = postgres(primary.url, driverOptions);
  const toError = (message: string) =>
    new DatabaseUnavailable(`No response over the connection "${name}": ${message}`);
  const run = <T>(statement: Promise<T>) =>
    unlessAborted(withTimeLimit(responseTimeoutMs, () => statement, toError), lost.signal);
  try {
    await run(makeSettings(sql, settings));
    isOpen = true;
    await use({
      sql,
      run,
      async wait(ms, earlier) {
        await pause(ms, [stopped, lost.signal], earlier);
        lost.signal.throwIfAborted();
      },
      isStopped: () => stopped.aborted,
    });
  } finally {
    primary.replaced.removeEventListener("abort", onReplaced);
    ended.abort();
    await sql.end({ timeout: 0 });
    // `sql.end` does not wait until the connection is closed.
    if (isOpen) await waitAtMost(CLOSE_MS, closed.promise);
  }
}

async function makeSettings(
  sql: postgres.Sql,
  settings: Record<string, string | number>,
): Promise<void> {
  await sql`
    select set_config(name, value, false)
    from json_each_text(${JSON.stringify(settings)}::text::json) as setting (name, value)`;
}
