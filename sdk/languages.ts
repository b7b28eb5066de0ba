/**
 * Builds a client in another language from the OpenAPI document, with openapi-generator. Version 4
 * is the newest stable version whose npm package contains the program. It cannot read OpenAPI 3.1.
 */

import { join } from "node:path";
import { toOpenApi30 } from "./openapi_3_0.ts";
import { LANGUAGE_GENERATOR } from "./tools.ts";

/** The options of openapi-generator for each language. */
const LANGUAGES: Record<string, string[]> = {
  python: ["-g", "python", "--package-name", "payment_gateway"],
  php: ["-g", "php", "--invoker-package", "PaymentGateway"],
  java: ["-g", "java", "--invoker-package", "paymentgateway", "--library", "native"],
  kotlin: ["-g", "kotlin", "--package-name", "paymentgateway"],
};

/** Writes the client into the folder, which is emptied first. Needs a Java runtime. */
export async function buildLanguage(language: string, documentPath: string, folder: string) {
  const options = LANGUAGES[language];
  if (!options) {
    throw new Error(`--language must be one of ${Object.keys(LANGUAGES).join(", ")}`);
  }
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  await Deno.mkdir(folder, { recursive: true });
  const document = JSON.parse(await Deno.readTextFile(documentPath));
  await Deno.writeTextFile(join(folder, "openapi.json"), JSON.stringify(toOpenApi30(document)));
  // The package joins the arguments into a shell command, so they must not contain spaces.
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-q", "-A", "--no-lock", "--no-config", LANGUAGE_GENERATOR, "generate"],
      ...["-i", "openapi.json", "-o", ".", ...options],
    ],
    cwd: folder,
    stdin: "null",
  }).output();
  if (code !== 0) {
    const decoder = new TextDecoder();
    const output = decoder.decode(stdout) + decoder.decode(stderr);
    throw new Error(`openapi-generator failed; it needs a Java runtime (java):\n${output}`);
  }
  if (language === "php") await replaceRemovedFunction(join(folder, "lib/Api"));
}

/** The generated code calls a function that version 2 of `guzzlehttp/psr7` does not have. */
async function replaceRemovedFunction(folder: string) {
  for await (const { name } of Deno.readDir(folder)) {
    const path = join(folder, name);
    const code = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, code.replaceAll("Psr7\\build_query(", "Psr7\\Query::build("));
  }
}
