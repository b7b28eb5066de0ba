import assert from "node:assert/strict";
import { guideNames, readGuide, runGuide } from "./support/guides.ts";
import { dataFolder, type Service, startService } from "./support/service.ts";

const guides = await guideNames();

/** How many blocks of a guide no test runs. Others have none, and more of them need a reason. */
const NOT_RUN: Record<string, number> = {
  "README.md": 1,
};

// One service for all: what a reader of several guides has, and much faster than one for each.
let service: Service;
let folder: Awaited<ReturnType<typeof dataFolder>>;

Deno.test.beforeAll(async () => {
  folder = await dataFolder();
  service = await startService({ settings: { DATA_DIR: folder.path } });
});

Deno.test.afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

for (const guide of guides) {
  Deno.test({
    name: `docs/${guide} does what it says`,
    // The service's own output is read all the while.
    sanitizeOps: false,
    fn: () => runGuide(guide, service, folder.path),
  });
}

Deno.test("what is not run in a guide says why, and is counted", async () => {
  const counted: Record<string, number> = {};
  for (const { guide, block } of (await Promise.all(guides.map(readGuide))).flat()) {
    if (block.kind === "not-run") counted[guide] = (counted[guide] ?? 0) + 1;
  }
  assert.deepEqual(counted, NOT_RUN);
});
