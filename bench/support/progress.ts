/** Shows how far a benchmark is. */

import { createProgressLine } from "../../tests/support/progress_line.ts";

export interface Progress {
  /** Call it before each step. */
  begin(step: string): void;
  clear(): void;
}

export function createProgress(name: string, steps: number): Progress {
  const begin = performance.now();
  const line = createProgressLine({
    isTerminal: Deno.stdout.isTerminal(),
    print: (text) => void Deno.stdout.writeSync(new TextEncoder().encode(text)),
    now: () => performance.now(),
  });
  let begun = 0;
  return {
    begin(step) {
      const seconds = Math.round((performance.now() - begin) / 1000);
      line.show(`${name}: step ${++begun} of ${steps}, ${seconds} s: ${step}`);
    },
    clear: line.clear,
  };
}
