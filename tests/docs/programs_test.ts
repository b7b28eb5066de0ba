import assert from "node:assert/strict";
import { findPrograms } from "../support/database/debian_postgres.ts";
import { hasProgram } from "../support/programs.ts";

/** What `work` prints with `console.error`. */
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

Deno.test("programs: a missing program is reported, an installed one is not", async () => {
  const there = Deno.execPath();
  assert.equal(await saidBy(() => hasProgram(there, "nothing is")), "");
  assert.match(
    await saidBy(() => hasProgram("no-such-program", "its tests are")),
    /^\*\*\* NO no-such-program: its tests are SKIPPED \*\*\*$/m,
  );
  // Installed, but it fails with these arguments.
  assert.match(await saidBy(() => hasProgram(there, "all is", ["no-such"])), /all is SKIPPED/);
  assert.equal(await hasProgram(there, "nothing is"), true);
});

Deno.test("programs: a missing PostgreSQL with pg_dump is reported", async () => {
  const said = await saidBy(() => assert.equal(findPrograms("/nonexistent"), null));
  assert.match(said, /^\*\*\* NO pg_dump: .* SKIPPED \*\*\*$/m);
});
