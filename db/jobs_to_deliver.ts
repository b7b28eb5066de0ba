/** Jobs that bring events to those who listen, and are not over. */

import type { Sql } from "./database.ts";
import { DELIVER, type GatewayJob, LEFT_OUT } from "./jobs.ts";

/** In the words of the index that holds them and nothing else. */
export const IS_UNDELIVERED =
  `jobs.status <> 'succeeded' and jobs.status <> 'failed' and starts_with(jobs.task, '${DELIVER}')`;

/** Those that came after it were gone on with: whoever has it run again tells of it alone. */
export async function noteLeftOut(sql: Sql, { id }: Pick<GatewayJob, "id">): Promise<void> {
  await sql`
    update gateway.jobs set payload = (payload::jsonb || ${sql.json({ [LEFT_OUT]: true })})::json
    where id = ${id}`;
}
