/** The secret of the links to the pages for customers. */

import type { Sql } from "../connection/database.ts";

const SECRET_BYTES = 32;

/** Creates the secret at the first start; all instances use the same one. */
export async function ensureLinkSecret(sql: Sql): Promise<Uint8Array> {
  const secret = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  await sql`
    insert into gateway.link_secrets (secret) values (${secret}) on conflict do nothing`;
  const [row] = await sql<[{ secret: Uint8Array }]>`select secret from gateway.link_secrets`;
  return row!.secret;
}
