/** The stories of payments, invoices and subscriptions: every change of their state. */

import type { Sql } from "./database.ts";

/** What can change its state at the gateway. */
export type Resource = "payment" | "invoice" | "subscription";

/** One change of state. */
export interface NewHistory {
  resource: Resource;
  resource_id: string;
  /** Null: it was made. */
  from_status: string | null;
  to_status: string;
  /** Of payments alone. */
  fraud_status: string | null;
  /** Who brought it about. */
  source: string;
  created_at: Date;
}

export interface History extends NewHistory {
  id: number;
}

export async function listHistory(sql: Sql, resourceId: string): Promise<History[]> {
  return await sql<History[]>`
    select id, resource, resource_id, from_status, to_status, fraud_status, source, created_at
    from gateway.history where resource_id = ${resourceId} order by id`;
}
