import assert from "node:assert/strict";
import { findPrograms } from "../support/database/debian_postgres.ts";
import { hasProgram } from "../support/programs.ts";

/** What is said on the error output meanwhile. */
async function saidBy(act: () => unknown): Promise<string> {
  const { error } = console;
  const lines: string[] = [];
  console.error = (line: string) => void lines.push(line);
  try {
    await act();
  } finally {
    console.error = error;
  }
  return lines.join("\n");
}

Deno.test("a program that a test lacks is missed loudly, and one that is there is not", async () => {
  const there = Deno.execPath();
  assert.equal(await saidBy(() => hasProgram(there, "nothing is")), "");
  assert.match(
    await saidBy(() => hasProgram("no-such-program", "its tests are")),
    /^\*\*\* NO no-such-program: its tests are SKIPPED \*\*\*$/m,
  );
  // There, but not able to.
  assert.match(await saidBy(() => hasProgram(there, "all is", ["no-such"])), /all is SKIPPED/);
  assert.equal(await hasProgram(there, "nothing is"), true);
});

Deno.test("so is a PostgreSQL with pg_dump", async () => {
  const said = await saidBy(() => assert.equal(findPrograms("/nonexistent"), null));
  assert.match(said, /^\*\*\* NO pg_dump: .* SKIPPED \*\*\*$/m);
});
