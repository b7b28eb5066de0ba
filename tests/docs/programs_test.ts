import assert from "node:assert/strict";
import { findPrograms } from "../support/database/debian_postgres.ts";
import { hasProgram } from "../support/programs.ts";

/** The text that `work` prints with `console.error`. */
async function errorOutputOf(work: () => unknown): Promise<string> {
  const { error } = console;
  const lines: string[] = [];
  console.error = (line: string) => void lines.push(line);
  try {
    await work();
  } finally {
    console.error = error;
  }
  return lines.join("\n");
}

Deno.test("programs: a missing program is reported, an installed one is not", async () => {
  const installed = Deno.execPath();
  assert.equal(await errorOutputOf(() => hasProgram(installed, "nothing is")), "");
  assert.match(
    await errorOutputOf(() => hasProgram("no-such-program", "its tests are")),
    /^\*\*\* NO no-such-program: its tests are SKIPPED \*\*\*$/m,
  );
  // The program is installed, but fails with these arguments.
  assert.match(
    await errorOutputOf(() => hasProgram(installed, "all is", ["no-such"])),
    /all is SKIPPED/,
  );
  assert.equal(await hasProgram(installed, "nothing is"), true);
});

Deno.test("programs: a missing PostgreSQL with pg_dump is reported", async () => {
  const output = await errorOutputOf(() => assert.equal(findPrograms("/nonexistent"), null));
  assert.match(output, /^\*\*\* NO pg_dump: .* SKIPPED \*\*\*$/m);
});
