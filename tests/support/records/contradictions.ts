/** Checks what is always true of the stored records. */

import assert from "node:assert/strict";
import { NIL } from "uuid";
import { updateStats } from "../../../core/reports/count_payments.ts";
import type { Service } from "../../../core/service.ts";
import type { Database } from "../../../db/connection/database.ts";
import {
  CHECKED_RESOURCES,
  type Contradiction,
  findContradictions,
  listIdsAfter,
} from "../../../db/reports/invariants.ts";
import { until } from "../until.ts";

/** Fails the test if records of its database contradict each other. */
export async function assertNoContradictions(database: Database): Promise<void> {
  assert.deepEqual(await readContradictions(database), []);
}

/** Counts all changes so far for the statistics, so that the counts are compared, too. */
export async function countChanges(service: Pick<Service, "database" | "clock">): Promise<void> {
  // A transaction of another test can delay it.
  await until("all changes are counted", async () => {
    await updateStats(service);
    const [{ is_counted }] = await service.database.query((sql) =>
      sql<[{ is_counted: boolean }]>`
        select position >= coalesce((select max(id) from gateway.history), 0) as is_counted
        from gateway.stats_progress`
    );
    return is_counted;
  });
}

/** All contradictions in a database whose events are all kept. */
export async function readContradictions(database: Database): Promise<Contradiction[]> {
  const found: Contradiction[] = [];
  for (const resource of CHECKED_RESOURCES) {
    const ids = await database.query((sql) => listIdsAfter(sql, resource, NIL, 1_000_000));
    found.push(
      ...await database.query((sql) => findContradictions(sql, resource, ids, new Date(0))),
    );
  }
  return found;
}
