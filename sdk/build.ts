/**
 * Program: builds the TypeScript client from the OpenAPI document, as an npm package. With
 * `--language python`, builds a client in another language (`languages.ts`).
 *
 * @hey-api/openapi-ts generates calls and types. Unlike openapi-typescript with openapi-fetch, it
 * names types and calls as in the document (`Payment`, not `components["schemas"]["Payment"]`), and
 * the package has no dependencies. Hand-written code in `src/` adds idempotency keys, retries,
 * pagination, errors and webhook verification.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildLanguage } from "./languages.ts";
import { DIST, GENERATOR, HERE, TYPESCRIPT } from "./tools.ts";

interface Generator {
  createClient(config: Record<string, unknown>): Promise<unknown>;
}

const DOCUMENT = join(HERE, "../openapi/openapi.json");

const { values: { language }, positionals: [dist = DIST] } = parseArgs({
  args: Deno.args,
  options: { language: { type: "string" } },
  allowPositionals: true,
});
if (language !== undefined) {
  const folder = join(dist, language);
  await buildLanguage(language, DOCUMENT, folder);
  console.log(folder);
  Deno.exit();
}

const { info } = JSON.parse(await Deno.readTextFile(DOCUMENT));
const output = await emptyFolder(join(dist, "client"));
const sources = await Deno.makeTempDir({ prefix: "payment-gateway-client-" });
try {
  await generate(join(sources, "generated"));
  await narrowPayment(join(sources, "generated/types.gen.ts"));
  await copySources(join(HERE, "src"), sources);
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
  // Imported first, so that the generator uses this version of TypeScript, not the newest one,
  // which the generator does not support.
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
 * Replaces the generated `Payment` by the one in `src/payment_types.ts`, in all types that contain
 * a payment. The document has one schema for all payments, not one per `payment_type`: that field
 * is any text, because a payment page may offer types that the service does not know.
 */
async function narrowPayment(path: string) {
  const types = await Deno.readTextFile(path);
  const parts = types.split("export type Payment = {");
  if (parts.length !== 2) throw new Error("The generated types must contain one type Payment");
  const imported =
    'import type { Payment } from "../payment_types.js";\nexport type { Payment };\n';
  await Deno.writeTextFile(path, `${imported}${parts.join("export type AnyPayment = {")}`);
}

/**
 * Copies the hand-written sources, and rewrites their imports: `#api/…` to the generated files, and
 * `.ts` to `.js`.
 */
async function copySources(from: string, to: string) {
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
  if (code !== 0) throw new Error("The client does not compile: see the errors above");
}

async function emptyFolder(folder: string): Promise<string> {
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  await Deno.mkdir(folder, { recursive: true });
  return folder;
}

function packageFile(version: string): string {
  const description = {
    name: "payment-gateway-client",
    version,
    description: "Typed client of the Payment Gateway Integration Service: payments, invoices, " +
      "subscriptions, events and webhooks",
    keywords: ["payments", "midtrans", "indonesia", "client", "webhooks"],
    license: "MIT",
    type: "module",
    main: "./lib/mod.js",
    types: "./lib/mod.d.ts",
    exports: {
      ".": { types: "./lib/mod.d.ts", default: "./lib/mod.js" },
      "./package.json": "./package.json",
    },
    files: ["lib"],
    sideEffects: false,
    engines: { node: ">=20.3" },
  };
  return JSON.stringify(description, null, 2) + "\n";
}
