import assert from "node:assert/strict";
import { PLANNER_SETTINGS } from "../../db/database.ts";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";

Deno.test("database connections: have every planner setting", async () => {
  await using app = await openApp({ databaseUrl: await createDatabase() });
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
