/** Reads the memory of a Deno process from `memory_server.ts`, which runs in it. */

import { until } from "../../tests/support/until.ts";

/** In bytes. */
export interface Memory {
  /** What the operating system counts, which stays high after a peak. */
  resident: number;
  /** The objects that are still in use, and the buffers that they hold. */
  used: number;
}

/**
 * Options of `deno run`. Deno's inspector could measure the same, but a process to which it was
 * connected once needs twice the processor time for each request.
 */
export const WITH_MEMORY_SERVER = [
  "--v8-flags=--expose-gc",
  "--preload",
  "proofs/fuzz/memory_server.ts",
];

/** `output`: of a process that was started with `WITH_MEMORY_SERVER`. */
export async function readMemory(output: () => string): Promise<Memory> {
  const findUrl = () => output().match(/^Memory: (http:\S+)$/m)?.[1];
  await until("the process can be measured", () => findUrl() !== undefined);
  const response = await fetch(findUrl()!);
  const { rss, heapUsed, external }: Deno.MemoryUsage = await response.json();
  return { resident: rss, used: heapUsed + external };
}
