/** Tells whoever watches what is going on; on standard error, so that output stays output. */
export function say(line: string): void {
  console.error(`%c·%c ${line}`, "color: cyan", "");
}
