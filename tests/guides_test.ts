import assert from "node:assert/strict";
import { guideNames, readGuide, runGuide } from "./support/guides.ts";
import { dataFolder, type Service, startService } from "./support/service.ts";

const guides = await guideNames();

/** How many blocks of a guide may go without being run here; of the others, none. */
const NOT_RUN: Record<string, number> = {
  "README.md": 1,
  // What needs root, a supervisor or a database of its own has a test of its own.
  "production.md": 10,
  "security.md": 2,
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

Deno.test("hardly anything in a guide is not run", async () => {
  for (const guide of guides) {
    const notRun = (await readGuide(guide)).filter(({ block }) => block.kind === "not-run");
    assert.ok(notRun.length <= (NOT_RUN[guide] ?? 0), `docs/${guide}: ${notRun.length} blocks`);
  }
});
