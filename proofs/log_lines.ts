/** Splits the log of a service, which arrives in parts, into lines. */

/** Calls `onLine` with each line as soon as it is complete. */
export function createLineReader(onLine: (line: string) => void): (text: string) => void {
  let rest = "";
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    lines.forEach(onLine);
  };
}

/** The event of an error in the log; null: the line is not an error. */
export function errorEventOf(line: string): string | null {
  if (!line.includes('"level":"error"')) return null;
  return line.match(/"event":"(\w+)"/)?.[1] ?? "unknown";
}
