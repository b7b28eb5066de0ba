/**
 * Makes the TypeScript client from the document: a package that is ready to publish.
 *
 * @hey-api/openapi-ts makes the calls and the types. It was chosen over openapi-typescript with
 * openapi-fetch because its types have the document's own names (`Payment`, not
 * `components["schemas"]["Payment"]`), its calls those of the operations, and the package needs no
 * other. What a generator cannot know is in `src/`: keys, retries, pages, errors, webhooks.
 */

import { join } from "node:path";
import { DIST, emptied, HERE } from "./dist.ts";
import { packageFile } from "./package_file.ts";
import { GENERATOR, TYPESCRIPT } from "./tools.ts";

interface Generator {
  createClient(config: Record<string, unknown>): Promise<unknown>;
}

const DOCUMENT = join(HERE, "../openapi/openapi.json");

const { info } = JSON.parse(await Deno.readTextFile(DOCUMENT));
const output = await emptied(join(Deno.args[0] ?? DIST, "client"));
const sources = await Deno.makeTempDir({ prefix: "payment-gateway-client-" });
try {
  await generate(join(sources, "generated"));
  await takeOver(join(HERE, "src"), sources);
  await compile(sources, join(output, "lib"));
} finally {
  await Deno.remove(sources, { recursive: true });
}
for (const name of ["README.md", "LICENSE"]) {
  await Deno.copyFile(join(HERE, name), join(output, name));
}
await Deno.writeTextFile(join(output, "package.json"), packageFile(info.version));
console.log(output);

async function generate(to: string) {
  // First, because the generator takes whichever is there, and cannot do with the newest.
  await import(TYPESCRIPT);
  const { createClient }: Generator = await import(GENERATOR);
  await createClient({
    input: DOCUMENT,
    output: { path: to, module: { extension: ".js" } },
    plugins: [
      { name: "@hey-api/client-fetch" },
      { name: "@hey-api/typescript" },
      { name: "@hey-api/sdk", client: false },
    ],
    logs: { level: "silent", file: false },
  });
}

/**
 * Copies the part that is written by hand, which calls what is generated `#api/…`, because it is
 * nowhere before this; here it is, and everything has the name by which compiled files import.
 */
async function takeOver(from: string, to: string) {
  for await (const { name } of Deno.readDir(from)) {
    const text = (await Deno.readTextFile(join(from, name)))
      .replace(/"#api\/client"/g, '"./generated/client/index.js"')
      .replace(/"#api\/(\w+)"/g, '"./generated/$1.gen.js"')
      .replace(/"(\.\/\w+)\.ts"/g, '"$1.js"');
    await Deno.writeTextFile(join(to, name), text);
  }
}

async function compile(from: string, to: string) {
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-q", "-A", "--no-lock", "--no-config", `${TYPESCRIPT}/tsc`],
      ...["--rootDir", from, "--outDir", to, "--declaration", "--strict", "--noUnusedLocals"],
      ...["--target", "es2022", "--module", "esnext", "--lib", "es2023,dom,dom.asynciterable"],
      ...["--moduleResolution", "bundler", "--skipLibCheck", join(from, "mod.ts")],
    ],
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).output();
  if (code !== 0) throw new Error("The client does not compile");
}
