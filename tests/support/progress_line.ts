/** One line that says how far a long run is. */

export interface ProgressLine {
  /** Shows the line in the place of the last one, or as a further line if some time has passed. */
  show(line: string): void;
  /** Removes the line from a terminal, so that other output can follow. */
  clear(): void;
}

export interface ProgressLineOptions {
  isTerminal: boolean;
  print(text: string): void;
  /** Milliseconds. */
  now(): number;
}

/** How often a program that reads the output, which cannot rewrite a line, gets a new one. */
const LINE_INTERVAL_MS = 30_000;

export function createProgressLine({ isTerminal, print, now }: ProgressLineOptions): ProgressLine {
  let shownAt = now();
  const clear = () => {
    if (isTerminal) print("\r\x1b[2K");
  };
  return {
    clear,
    show(line) {
      if (isTerminal) return print(`\r\x1b[2K${line}`);
      if (now() - shownAt < LINE_INTERVAL_MS) return;
      shownAt = now();
      print(line + "\n");
    },
  };
}

/** The minutes that the rest takes at the speed so far. At least one has been done. */
export function minutesLeft(elapsedMs: number, done: number, total: number): number {
  return Math.max(1, Math.round(elapsedMs / done * (total - done) / 60_000));
}
