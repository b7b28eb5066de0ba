/** Programs that a test needs and not every machine has. */

/** Whether it is there, and does that; where not, what is skipped for lack of it is said loudly. */
export async function hasProgram(
  program: string,
  skipped: string,
  args = ["--version"],
): Promise<boolean> {
  const hasIt = await runs(program, args);
  if (!hasIt) sayMissing(program, skipped);
  return hasIt;
}

export function sayMissing(program: string, skipped: string): void {
  console.error(`\n*** NO ${program}: ${skipped} SKIPPED ***\n`);
}

async function runs(program: string, args: string[]): Promise<boolean> {
  try {
    const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
    return (await new Deno.Command(program, { args, ...quiet }).output()).success;
  } catch {
    return false;
  }
}
