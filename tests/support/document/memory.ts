/**
 * A program: asks for the service's document over and over, and prints how much memory it holds on to
 * after each thousand requests. On its own, since only here it may have the garbage collected.
 */

import { setTimeout as delay } from "node:timers/promises";
import { createReference } from "../../../openapi/reference.ts";
import { openApp } from "../app.ts";

const THOUSANDS = 10;

const { gc } = globalThis as unknown as { gc(): void };

// Nothing that is asked here asks the database. The app as a whole would be measured with its log,
// which a test's app keeps in memory.
await using app = await openApp({ databaseUrl: "postgres://127.0.0.1/none" });
const { document } = app;
const reference = createReference({ document, basePath: "", developmentKey: null });
const held: number[] = [];
for (let thousand = 0; thousand < THOUSANDS; thousand++) {
  for (let n = 0; n < 1000; n++) {
    const headers: HeadersInit = n % 2 === 0 ? { "Accept-Encoding": "gzip" } : {};
    const answer = await reference.request("/openapi.json/", { headers });
    if (answer.status !== 200) throw new Error(`${answer.status}`);
    await answer.arrayBuffer();
  }
  held.push(await heldMemory());
}
console.log(JSON.stringify(held));

/** What waits for its finalizer is let go one turn after it was found to be garbage. */
async function heldMemory(): Promise<number> {
  for (let turn = 0; turn < 3; turn++) {
    gc();
    await delay(0);
  }
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}
