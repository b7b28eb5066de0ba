import assert from "node:assert/strict";
import postgres from "postgres";
import { openPool, reachDatabase } from "../../commands/database_access.ts";
import { migrateDatabase } from "../../commands/migrate.ts";
import { loadMigrations } from "../../db/migrations/migrate.ts";
import { createLimitedDatabase } from "../support/database/database.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { inTime, until } from "../support/until.ts";

Deno.test("start: waits while the server allows no more connections", async () => {
  const { proxy, url } = throughProxy(await createLimitedDatabase(1));
  await using _ = proxy;
  const migrations = await loadMigrations();
  const steps = {
    // The wait for a server that starts has ended; the wait for a free connection has no end.
    reachDatabase: () => reachDatabase(url, null, -1),
    migrate: () => migrateDatabase(url, migrations),
    async openPool() {
      await (await openPool({ url, poolSize: 1 })).close();
    },
  };
  for (const [name, step] of Object.entries(steps)) {
    const occupier = postgres(url, { max: 1, onnotice: () => {} });
    // The server may not have noticed yet that the previous connection was closed.
    await until("it is connected", () => occupier`select 1`.then(() => true, () => false));
    const refusal = proxy.hold("too many connections");
    const result = step().then(() => "connected", (error) => error);
    await inTime("the server refuses a connection", refusal);
    await occupier.end();
    proxy.restore();
    assert.equal(await inTime("the step has ended", result), "connected", name);
  }
});
