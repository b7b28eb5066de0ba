import { guideNames, runGuide } from "../support/guides/guides.ts";
import { hasProgram } from "../support/programs.ts";
import { preparedFolder, type Service, startService } from "../support/service.ts";

const hasCurl = await hasProgram("curl", "the tests of the guides' commands are");

// One service for all: what a reader of several guides has, and much faster than one for each.
let service: Service;
let folder: Awaited<ReturnType<typeof preparedFolder>>;

Deno.test.beforeAll(async () => {
  if (!hasCurl) return;
  folder = await preparedFolder();
  service = await startService({ settings: { DATA_DIR: folder.path } });
});

Deno.test.afterAll(async () => {
  if (!hasCurl) return;
  await service[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

for (const guide of await guideNames()) {
  Deno.test({
    name: `docs/${guide} does what it says`,
    ignore: !hasCurl,
    // The service's own output is read all the while.
    sanitizeOps: false,
    fn: () => runGuide(guide, service, folder.path),
  });
}
