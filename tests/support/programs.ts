/** Finds programs that not every machine has. */

/**
 * Whether the program runs with these arguments. If not, prints that tests are skipped; `skipped`
 * names the tests in this message, such as "its tests are".
 */
export async function hasProgram(
  program: string,
  skipped: string,
  args = ["--version"],
): Promise<boolean> {
  const isInstalled = await runs(program, args);
  if (!isInstalled) printMissing(program, skipped);
  return isInstalled;
}

/** The messages of this process about missing programs. */
export const missingPrograms: string[] = [];

export function printMissing(program: string, skipped: string): void {
  const message = `\n*** NO ${program}: ${skipped} SKIPPED ***\n`;
  missingPrograms.push(message);
  console.error(message);
}

async function runs(program: string, args: string[]): Promise<boolean> {
  try {
    const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
    return (await new Deno.Command(program, { args, ...quiet }).output()).success;
  } catch {
    return false;
  }
}
