/** Programs that a test needs and not every machine has. */

/** Whether it is there, and does that. */
export async function runs(program: string, ...args: string[]): Promise<boolean> {
  try {
    const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
    return (await new Deno.Command(program, { args, ...quiet }).output()).success;
  } catch {
    return false;
  }
}

/** Without it what the guides show cannot be tried out; then that is skipped, and said loudly. */
export async function hasCurl(): Promise<boolean> {
  const hasIt = await runs("curl", "--version");
  if (!hasIt) console.error("\n*** NO CURL: the tests of the guides' commands are SKIPPED ***\n");
  return hasIt;
}
