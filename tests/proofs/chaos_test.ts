import assert from "node:assert/strict";
import { runChaos } from "../../proofs/chaos/chaos.ts";
import {
  type ChaosDatabase,
  openPairDatabase,
  openSingleDatabase,
} from "../../proofs/chaos/database.ts";
import { kills } from "../../proofs/chaos/disturb.ts";
import { openChaosInstallation } from "../../proofs/chaos/installation.ts";
import { reportText } from "../../proofs/chaos/report.ts";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import { hasPatroni } from "../support/database/pair.ts";
import { runTask } from "../support/service.ts";
import { isPartial, shareOf } from "../support/share.ts";

/** Enough for one with each clock. */
const INSTANCES = 3;

async function run(
  openDatabase: () => Promise<ChaosDatabase>,
  seed: number,
  atLeast: number,
): Promise<void> {
  const random = createRandom(seededState(seed));
  await using installation = await openChaosInstallation({
    instances: INSTANCES,
    openDatabase,
    random,
  });
  const result = await runChaos(installation, { seed, kills: atLeast, minutes: Infinity });
  const text = reportText(result, installation);
  assert.deepEqual(result.differences, [], text);
  assert.ok(
    result.history.calls.some(({ name, outcome }) => name === "charge" && outcome === "done"),
  );
  assert.match(text, /What differed +nothing/);
  assert.ok(kills(result.disturbances) >= atLeast, text);
  const { killed, databases, paused, gateway } = result.disturbances.counts;
  const happened = { killed, databases: databases.size, paused, gateway };
  for (const [kind, count] of Object.entries({ ...happened, ...installation.courier.counts })) {
    assert.ok(count > 0, `${kind}: ${count}\n${text}`);
  }
  // The outage lasts at least until the database has recovered.
  assert.ok(result.disturbances.longestOutage > 0, text);
}

Deno.test("chaos: nothing differs after kills of the service and of its database", async () => {
  await run(openSingleDatabase, 11, shareOf(60, 4));
});

Deno.test({
  name: "chaos: nothing differs after failovers of a pair of databases",
  ignore: isPartial || !await hasPatroni("the failovers of `deno task chaos` are"),
  fn: async () => await run(openPairDatabase, 12, 20),
});

Deno.test("chaos: a wrong option ends with code 2 and says what is allowed", async () => {
  for (
    const [args, expected] of [
      [["--kills", "none"], /--kills must be a whole number/],
      [["--kills", "0"], /--kills must be a whole number from 1/],
      [["--database", "three"], /--database must be single or pair/],
      [["--hours", "1"], /--hours/],
    ] as const
  ) {
    const { code, stderr } = await runTask(["chaos", ...args], {});
    assert.equal(code, 2, stderr);
    assert.match(stderr, expected);
    assert.match(stderr, /^Usage: deno task chaos/m);
  }
});

Deno.test("chaos: --help prints the usage", async () => {
  const { code, stdout } = await runTask(["chaos", "--help"], {});
  assert.equal(code, 0);
  assert.match(stdout, /^Usage: deno task chaos/);
});
