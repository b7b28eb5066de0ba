import { guideNames, runGuide } from "../support/guides/guides.ts";
import { hasProgram } from "../support/programs.ts";
import { preparedFolder, type ServiceProcess, startService } from "../support/service.ts";
import { isPartial } from "../support/share.ts";

const hasCurl = await hasProgram("curl", "the tests of the commands in the guides are");

/** What a newcomer reads first; the others run with `--full`. */
const FIRST_GUIDES = ["first-payments.md", "checkout.md", "idempotency.md", "receiving-events.md"];

// All guides use one service, because starting one for each guide would take longer.
let service: ServiceProcess;
let folder: Awaited<ReturnType<typeof preparedFolder>>;
const resources = new AsyncDisposableStack();

Deno.test.beforeAll(async () => {
  if (!hasCurl) return;
  folder = resources.use(await preparedFolder());
  service = resources.use(await startService({ settings: { DATA_DIR: folder.path } }));
});

Deno.test.afterAll(() => resources.disposeAsync());

for (const guide of isPartial ? FIRST_GUIDES : await guideNames()) {
  Deno.test({
    name: `guides: the commands in docs/${guide} print the output that the guide shows`,
    ignore: !hasCurl,
    // The shared service keeps writing output, so reading it does not end with the test.
    sanitizeOps: false,
    fn: () => runGuide(guide, service, folder.path),
  });
}
