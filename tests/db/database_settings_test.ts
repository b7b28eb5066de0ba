import assert from "node:assert/strict";
import { openDatabase } from "../../db/connection/database.ts";
import { PLANNER_SETTINGS } from "../../db/connection/settings.ts";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { PATIENT_DEADLINE_MS } from "../support/database/pools.ts";

Deno.test("database connections: have every planner setting", async () => {
  await using app = await openApp({ databaseUrl: await createDatabase({ isNew: true }) });
  const names = Object.keys(PLANNER_SETTINGS);
  const settings = await app.database.query((sql) =>
    sql<{ name: string; setting: string }[]>`
      select name, setting from pg_settings where name = any(${names})`
  );
  const expected = Object.entries(PLANNER_SETTINGS).map(([name, value]) => [name, String(value)]);
  assert.deepEqual(
    Object.fromEntries(settings.map(({ name, setting }) => [name, setting])),
    Object.fromEntries(expected),
  );
});

Deno.test("database connections: return arrays from the first statement, even if it is long", async () => {
  const url = await createDatabase({ template: null });
  const statement = `select array['a'] as letters, $1::text as value -- ${"long".repeat(500)}`;
  // Whether the driver returns arrays as text depends on timing, so the test opens many
  // connections.
  for (let i = 0; i < 40; i++) {
    const database = openDatabase({ url, poolSize: 1, deadlineMs: PATIENT_DEADLINE_MS });
    const [row] = await database.query((sql) => sql.unsafe(statement, ["1"], { prepare: true }));
    await database.close();
    assert.deepEqual(row!.letters, ["a"]);
  }
});
