/**
 * Sends 100,000 random or altered notifications. Rejected ones must not store rows or use up
 * memory.
 */

import { generateApiKey } from "../core/secrets/api_key.ts";
import { runSql } from "../tests/support/database/database.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { createBadBodies } from "./support/bad_bodies.ts";
import { goal, requiredGoal, row } from "./support/figures.ts";
import { residentMemory } from "./support/memory.ts";
import { insertPayments, PENDING } from "./support/pending_payments.ts";
import { startPostgres } from "./support/postgres.ts";
import { startSandbox } from "./support/program.ts";
import { SERVER_KEY, startService } from "./support/service.ts";

const BODIES = 100_000;
const CONCURRENT_REQUESTS = 32;
/** Memory is read after each part; the last value is compared with the first. */
const PARTS = 10;
const MAX_GROWTH = 1.2;

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
const databaseUrl = await server.createDatabase("bad_notifications");
// The service looks up transactions in this sandbox, which responds to unknown ones with 404.
await using sandbox = await startSandbox(folder.path, SERVER_KEY);
await using service = await startService(`${folder.path}/service.log`, {
  DATABASE_URL: databaseUrl,
  GATEWAY_BASE_URL: sandbox.url.replace(/\/$/, ""),
  BOOTSTRAP_STAFF_KEY: generateApiKey(),
});
await insertPayments(databaseUrl, PENDING);

const seed = Number(Deno.args[0] ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const nextBody = createBadBodies(seed, PENDING);
const statuses = new Map<number, number>();
const accepted = new Set<string>();
const failures: string[] = [];

console.log(`${BODIES.toLocaleString("en")} bad bodies, seed ${seed}`);
const memory: number[] = [];
for (let part = 0; part < PARTS; part++) {
  await sendAll(BODIES / PARTS);
  memory.push(await residentMemory(/ main\.ts$/));
}

const responses = [...statuses].sort(([a], [b]) => a - b).map(([status, n]) => `${n} × ${status}`);
console.log(row("responses", [responses.join(", ")]));
console.log(
  row(
    "responses with 500 and above",
    [String(failures.length)],
    requiredGoal("none", !failures[0]),
  ),
);
for (const failure of failures.slice(0, 5)) console.log(`  ${failure}`);

const stored = await runSql(databaseUrl, "select id, status from gateway.notifications");
const unexpected = stored.filter(({ id }) => !accepted.has(id));
const isExact = unexpected.length === 0 && stored.length === accepted.size;
const summary = `${accepted.size} accepted, ${stored.length} stored`;
console.log(
  row("notifications", [summary], requiredGoal("only accepted ones are stored", isExact)),
);

const [totals] = await runSql(
  databaseUrl,
  `select (select count(*) from gateway.payments) - ${PENDING} as payments,
    (select count(*) from gateway.payments where transaction_status <> 'pending') as changed,
    (select count(*) from gateway.history) as history,
    (select count(*) from gateway.events) as events`,
);
const changes = stored.filter(({ status }) => status === "processed").length;
const counts = Object.entries(totals!).map(([name, count]) => `${count} ${name}`).join(", ");
const isConsistent = Number(totals!.payments) === 0 &&
  [totals!.changed, totals!.history, totals!.events].every((count) => Number(count) === changes);
console.log(
  row(
    `rows for ${changes} processed notifications`,
    [counts],
    requiredGoal("one change each", isConsistent),
  ),
);

const growth = memory.at(-1)! / memory[0]!;
const megabytes = memory.map((bytes) => Math.round(bytes / 1e6));
console.log(row(
  `memory after each tenth, MB: ${megabytes.join(" ")}`,
  [growth.toFixed(2)],
  goal(`at most ${MAX_GROWTH} times the first`, growth <= MAX_GROWTH),
));

async function sendAll(count: number): Promise<void> {
  let sent = 0;
  await Promise.all(Array.from({ length: CONCURRENT_REQUESTS }, async () => {
    while (sent++ < count) await send(nextBody());
  }));
}

async function send(body: Uint8Array<ArrayBuffer>): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${service.url}notification/`, { method: "POST", headers, body });
  const { status } = response;
  const result = await response.json();
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  if (status >= 500) {
    failures.push(`${status} to ${JSON.stringify(new TextDecoder().decode(body))}`);
  }
  if (status === 200 && result.notification_id) accepted.add(result.notification_id);
}
