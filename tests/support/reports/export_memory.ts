/**
 * A program that exports payments, and prints the used memory after each tenth of the rows. It runs
 * as its own process, because it needs to trigger garbage collection.
 *
 * Arguments: the URL of the database, an API key, the number of payments.
 */

import { setTimeout as delay } from "node:timers/promises";
import { openApp } from "../app.ts";

const [databaseUrl, key, count] = Deno.args as [string, string, string];

const { gc } = globalThis as unknown as { gc(): void };

await using app = await openApp({ databaseUrl });
const headers = { Authorization: `Bearer ${key}` };
const request = new Request("http://localhost/exports/payments/", { headers });
// Unchecked, because the check could keep the whole response in memory.
const response = await app.fetchUnchecked(request);
if (response.status !== 200) throw new Error(await response.text());
const usedBytes: number[] = [];
// The first line is the header.
let rows = -1;
for await (const chunk of response.body!) {
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) rows++;
  if (rows < Number(count) / 10 * (usedBytes.length + 1)) continue;
  usedBytes.push(await measureUsedMemory());
}
console.log(JSON.stringify({ rows, usedBytes }));

/** Objects with finalizers are freed one event loop turn after their collection. */
async function measureUsedMemory(): Promise<number> {
  for (let turn = 0; turn < 3; turn++) {
    gc();
    await delay(0);
  }
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}
