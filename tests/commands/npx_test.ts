import assert from "node:assert/strict";
import { callService } from "../support/client.ts";
import { hasProgram } from "../support/programs.ts";
import { createDataFolder } from "../support/project.ts";
import { postgresRuns, preparedFolder, startService } from "../support/service.ts";

/** The README's command, with the Deno version that runs the tests. */
const START = ["npx", "-y", `deno@${Deno.version.deno}`, "task", "start"];

const hasNpx = await hasProgram("npx", "the tests of the README's command are");

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.test({
    name: `npx: ${signal} stops the service cleanly`,
    ignore: !hasNpx,
    async fn() {
      // The test of SIGTERM includes a first start, as in the README.
      await using folder = signal === "SIGTERM" ? await createDataFolder() : await preparedFolder();
      const settings = { DATA_DIR: folder.path };
      await using service = await startService({ settings, command: START });
      assert.equal((await service.get("/me/", service.keys.user)).status, 200);
      service.signal(signal);
      const { code } = await service.ended;
      assert.equal(code, 0, service.output());
      assert.match(service.output(), /"event":"stopped"/);
      await assert.rejects(callService(service.url), TypeError);
      assert.equal(await postgresRuns(folder.path), false);
    },
  });
}
