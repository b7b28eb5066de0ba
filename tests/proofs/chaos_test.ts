import assert from "node:assert/strict";
import { runChaos } from "../../proofs/chaos/chaos.ts";
import {
  type ChaosDatabase,
  openPairDatabase,
  openSingleDatabase,
} from "../../proofs/chaos/database.ts";
import { openChaosInstallation } from "../../proofs/chaos/installation.ts";
import { reportText } from "../../proofs/chaos/report.ts";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import { hasPatroni } from "../support/database/pair.ts";
import { runTask } from "../support/service.ts";
import { isPartial, shareOf } from "../support/share.ts";

async function run(database: ChaosDatabase, seed: number, kills: number): Promise<void> {
  const random = createRandom(seededState(seed));
  await using installation = await openChaosInstallation({ instances: 2, database, random });
  const result = await runChaos(installation, { seed, kills, minutes: Infinity });
  const text = reportText(result, installation);
  assert.deepEqual(result.differences, [], text);
  assert.ok(
    result.history.calls.some(({ name, outcome }) => name === "charge" && outcome === "done"),
  );
  assert.match(text, /What differed +nothing/);
}

Deno.test("chaos: nothing differs after kills of the service and of its database", async () => {
  await run(await openSingleDatabase(), 11, shareOf(60, 3));
});

Deno.test({
  name: "chaos: nothing differs after failovers of a pair of databases",
  ignore: isPartial || !await hasPatroni("the failovers of `deno task chaos` are"),
  fn: async () => await run(await openPairDatabase(), 12, 20),
});

Deno.test("chaos: a wrong option ends with code 2 and says what is allowed", async () => {
  for (
    const [args, expected] of [
      [["--kills", "none"], /--kills must be a whole number/],
      [["--database", "three"], /--database must be single or pair/],
      [["--hours", "1"], /--hours/],
    ] as const
  ) {
    const { code, stderr } = await runTask(["chaos", ...args], {});
    assert.equal(code, 2, stderr);
    assert.match(stderr, expected);
  }
});
