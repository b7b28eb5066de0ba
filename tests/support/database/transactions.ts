/** Waits for the transactions of other tests, which use other databases of the same server. */

import postgres from "postgres";
import { until } from "../until.ts";

/**
 * Waits until every transaction of the server that is open now has ended. Some decisions of
 * PostgreSQL depend on the oldest open transaction in any database of the server.
 */
export async function untilEarlierTransactionsEnd(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    const [row] = await sql`select pg_current_xact_id()::text as id`;
    await until("all earlier transactions of the server have ended", async () => {
      const [found] = await sql`
        select pg_snapshot_xmin(pg_current_snapshot()) > ${row!.id}::text::xid8 as have_ended`;
      return found!.have_ended;
    });
  } finally {
    await sql.end();
  }
}
