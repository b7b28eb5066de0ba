/** Reads the options of the proofs' commands. */

import { parseArgs } from "node:util";

/** Numbers up to here fit into the random generator's seed. */
const MAX_DIGITS = 9;

/**
 * The values of the options with these names. `--help` prints the usage and ends the program with
 * code 0, a wrong option with code 2. `read` throws if a value is wrong.
 */
export function readOptions<T>(
  usage: string,
  names: readonly string[],
  read: (values: Record<string, string | undefined>) => T,
): T {
  try {
    const texts = names.map((name) => [name, { type: "string" as const }] as const);
    const help = { type: "boolean", short: "h" } as const;
    const { values } = parseArgs({ options: { ...Object.fromEntries(texts), help } });
    if (values.help === true) {
      console.log(usage);
      Deno.exit(0);
    }
    return read(values as Record<string, string | undefined>);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    Deno.exit(2);
  }
}

export function readNumber(name: string, text: string | undefined, least: number): number | null {
  if (text === undefined) return null;
  if (/^\d+$/.test(text) && text.length <= MAX_DIGITS && Number(text) >= least) return Number(text);
  throw new Error(`--${name} must be a whole number from ${least} to ${"9".repeat(MAX_DIGITS)}`);
}
