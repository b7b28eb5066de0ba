/**
 * A program that requests the document repeatedly, and prints the used memory after each thousand
 * requests. It runs as its own process, because it needs to trigger garbage collection.
 */

import { setTimeout as delay } from "node:timers/promises";
import { createReference } from "../../../openapi/reference.ts";
import { openApp } from "../app.ts";

const THOUSANDS = 10;

const { gc } = globalThis as unknown as { gc(): void };

// Requests go directly to the document's routes. The app keeps its log in memory, which would count
// as growth.
await using app = await openApp({ databaseUrl: "postgres://127.0.0.1/none" });
const { document } = app;
const reference = createReference({ document, basePath: "", developmentKey: null });
const usedBytes: number[] = [];
for (let thousand = 0; thousand < THOUSANDS; thousand++) {
  for (let n = 0; n < 1000; n++) {
    const headers: HeadersInit = n % 2 === 0 ? { "Accept-Encoding": "gzip" } : {};
    const response = await reference.request("/openapi.json/", { headers });
    if (response.status !== 200) throw new Error(`${response.status}`);
    await response.arrayBuffer();
  }
  usedBytes.push(await measureUsedMemory());
}
console.log(JSON.stringify(usedBytes));

/** Objects with finalizers are freed one event loop turn after their collection. */
async function measureUsedMemory(): Promise<number> {
  for (let turn = 0; turn < 3; turn++) {
    gc();
    await delay(0);
  }
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}
