/** Runs the tests against a PostgreSQL of their own, and counts them. */

import { join } from "node:path";
import { install } from "../db/embedded/install.ts";
import { startServer } from "../db/embedded/server.ts";
import { loadMigrations, migrate } from "../db/migrations.ts";
import { createDatabase, TEMPLATE } from "./support/database/database.ts";
import { download } from "./support/tools.ts";

await download((line) => console.error(line));
const folder = await Deno.makeTempDir({ prefix: "payment-gateway-test-" });
// As root the server runs as nobody, who has to get in.
await Deno.chmod(folder, 0o755);
const layout = await install(folder, (line) => console.error(line));
const server = await startServer(layout, {
  settings: [
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=500",
  ],
});
try {
  const template = await createDatabase({ server: server.url, name: TEMPLATE, template: null });
  await migrate(template, await loadMigrations());
  Deno.exitCode = await runTests(server.url);
} finally {
  await server.stop();
  await Deno.remove(folder, { recursive: true });
}

async function runTests(serverUrl: string): Promise<number> {
  const report = join(folder, "report.xml");
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...[
        "test",
        "-P=test",
        "--no-check",
        "--no-lock",
        "--parallel",
        "--sanitize-ops",
        "--sanitize-resources",
      ],
      ...[`--junit-path=${report}`, ...Deno.args.length > 0 ? Deno.args : ["tests/"]],
    ],
    env: { TEST_SERVER_URL: serverUrl },
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).output();
  console.log(count(await Deno.readTextFile(report), code));
  return code;
}

/** The runner's own count, in a form that every reader of logs knows. */
function count(report: string, code: number): string {
  // A file that cannot even be loaded has no test that failed, but fails the run.
  const failed = report.match(/<(failure|error)\b/g)?.length ?? (code === 0 ? 0 : 1);
  const skipped = report.match(/<skipped\b/g)?.length ?? 0;
  const all = report.match(/<testcase\b/g)?.length ?? 0;
  return `${all - failed - skipped} passed, ${failed} failed, ${skipped} skipped`;
}
