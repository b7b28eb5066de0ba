import assert from "node:assert/strict";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";

Deno.test("plans go by indexes, and none is compiled for its seeming price", async () => {
  await using app = await openApp({ databaseUrl: await createDatabase() });
  const names = ["jit", "enable_hashjoin", "enable_mergejoin", "enable_material"];
  const settings = await app.database.query((sql) =>
    sql<{ name: string; setting: string }[]>`
      select name, setting from pg_settings where name = any(${names})`
  );
  assert.equal(settings.length, names.length);
  for (const { name, setting } of settings) assert.equal(setting, "off", name);
});
