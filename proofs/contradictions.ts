/** Checks all stored records, as the service's own task does in small parts. */

import { NIL } from "uuid";
import { type Database, openDatabase } from "../db/connection/database.ts";
import {
  CHECKED_RESOURCES,
  type CheckedResource,
  findContradictions,
  listIdsAfter,
} from "../db/reports/invariants.ts";

/** How many records one statement checks, and how long it may take on a busy machine. */
const BATCH = 1_000;
const DEADLINE_MS = 60_000;

/** Descriptions of records that contradict what is always true. */
export async function findAllContradictions(databaseUrl: string): Promise<string[]> {
  const database = openDatabase({ url: databaseUrl, poolSize: 1, deadlineMs: DEADLINE_MS });
  try {
    const found = await Promise.all(
      CHECKED_RESOURCES.map((resource) => checkAll(database, resource)),
    );
    return found.flat();
  } finally {
    await database.close();
  }
}

/** Checks all records of a kind, in batches, because a long run creates many. */
async function checkAll(database: Database, resource: CheckedResource): Promise<string[]> {
  const found: string[] = [];
  let ids: string[] = [];
  do {
    const after = ids.at(-1) ?? NIL;
    ids = await database.query((sql) => listIdsAfter(sql, resource, after, BATCH));
    const contradictions = await database.query(
      (sql) => findContradictions(sql, resource, ids, new Date(0)),
    );
    found.push(...contradictions.map((each) => `${resource} ${JSON.stringify(each)}`));
  } while (ids.length === BATCH);
  return found;
}
