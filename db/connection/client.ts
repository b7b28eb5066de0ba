/** A connection for a few statements about the server, also through poolers of each kind. */

import postgres from "postgres";
import { withTimeLimit } from "../../concurrency/deadlines.ts";
import { pacedSocket } from "./paced_socket.ts";

export interface Client extends AsyncDisposable {
  run(statement: string): Promise<postgres.RowList<postgres.Row[]>>;
}

/** The limit for each statement: a pooler without a free session does not respond for minutes. */
const RESPONSE_TIMEOUT_MS = 5_000;

/**
 * Without settings, sends only start-up parameters that every pooler accepts. Prepares no
 * statement.
 */
export function openClient(url: string, settings: Record<string, string | number> = {}): Client {
  const ended = new AbortController();
  const sql = postgres(url, {
    max: 1,
    ...pacedSocket(ended.signal),
    max_lifetime: null,
    connect_timeout: 2,
    prepare: false,
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: "payment-gateway start", ...settings },
  });
  return {
    run: (statement) => withTimeLimit(RESPONSE_TIMEOUT_MS, () => sql.unsafe(statement)),
    async [Symbol.asyncDispose]() {
      ended.abort();
      await sql.end({ timeout: 0 });
    },
  };
}
