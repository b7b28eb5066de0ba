/** Checks what is always true of the stored records. */

import assert from "node:assert/strict";
import { NIL } from "uuid";
import type { Database } from "../../../db/connection/database.ts";
import {
  CHECKED_RESOURCES,
  type Contradiction,
  findContradictions,
  listIdsAfter,
} from "../../../db/reports/invariants.ts";

/** Fails the test if records of its database contradict each other. */
export async function assertNoContradictions(database: Database): Promise<void> {
  assert.deepEqual(await readContradictions(database), []);
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
