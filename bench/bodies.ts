/**
 * Measures the processor time that the service needs to refuse the worst request bodies of each
 * route. One thread serves all callers, so the other callers wait for this time.
 */

import { randomUUID } from "node:crypto";
import process from "node:process";
import { loadMigrations } from "../db/migrations/migrate.ts";
import { migrateDatabase } from "../commands/migrate.ts";
import { openApp, REAL_INSTALLATION } from "../tests/support/app.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { goal, median, milliseconds, row } from "./support/figures.ts";
import { startPostgres } from "./support/postgres.ts";
import { worstBodies } from "./support/worst_bodies.ts";

const ROUNDS = 41;
const MAX_MS = 5;

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
const databaseUrl = await server.createDatabase("bodies");
await migrateDatabase(databaseUrl, await loadMigrations());
await using app = await openApp({
  databaseUrl,
  env: { ...REAL_INSTALLATION, RATE_LIMIT_PER_SECOND: "1000000", RATE_LIMIT_BURST: "1000000" },
});
const key = await app.createKey({ isStaff: true });

const id = randomUUID();
const operations = Object.entries(app.document().paths ?? {}).flatMap(([path, methods]) =>
  Object.keys(methods ?? {}).filter((method) => ["post", "put", "patch"].includes(method))
    .map((method) => ({ method: method.toUpperCase(), path }))
);
for (const { method, path } of operations) {
  const url = path.replace(/\{\w+\}/, id);
  const slowest = { ms: 0, name: "", status: 0 };
  for (const [name, body] of Object.entries(worstBodies(path))) {
    const times: number[] = [];
    let status = 0;
    for (let round = 0; round < ROUNDS; round++) {
      // Looks up the API key, so that the measured request finds it in the cache, where it stays
      // 2 s.
      await (await app.as(key, "/me/")).text();
      const headers = { "Content-Type": "application/json", Authorization: `Bearer ${key}` };
      const request = new Request(`http://localhost${url}`, { method, headers, body });
      // Processor time, because it does not depend on other programs on the machine.
      const before = process.cpuUsage();
      const response = await app.fetchUnchecked(request);
      const { user, system } = process.cpuUsage(before);
      times.push((user + system) / 1_000);
      status = response.status;
      await response.text();
    }
    const ms = median(times);
    if (Deno.args.includes("--all")) {
      console.log(row(`  ${name}`, [String(status), milliseconds(ms)]));
    }
    if (ms > slowest.ms) Object.assign(slowest, { ms, name, status });
  }
  const { ms, name, status } = slowest;
  console.log(row(
    `${method} ${path}`,
    [milliseconds(ms)],
    `${goal(`at most ${MAX_MS} ms`, ms <= MAX_MS)} (${name}: ${status})`,
  ));
}
