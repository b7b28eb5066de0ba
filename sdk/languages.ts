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
  for (const repair of REPAIRS[language] ?? []) await replaceInFiles(folder, repair);
}

/** Replaces a text in the files of a folder below the client. Fails if no file contains it. */
interface Repair {
  folder: string;
  from: string | RegExp;
  to: string;
}

const REPAIRS: Record<string, Repair[]> = {
  java: [
    // An optional body that is null: the code would send the text "null".
    {
      folder: "src/main/java/org/openapitools/client/api",
      from: /= (memberVarObjectMapper\.writeValueAsBytes\((\w+)\));/g,
      to: "= $2 == null ? new byte[0] : $1;",
    },
    // Without TLS, Java asks for an upgrade to HTTP/2, and Deno answers 400.
    {
      folder: "src/main/java/paymentgateway",
      from: "builder = HttpClient.newBuilder();",
      to: "builder = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1);",
    },
  ],
  php: [
    // A function that version 2 of `guzzlehttp/psr7` does not have.
    { folder: "lib/Api", from: "Psr7\\build_query(", to: "Psr7\\Query::build(" },
    // Lists in the query: the code would use their indexes as the names of parameters.
    { folder: "lib/Api", from: "'form' === 'form' && is_array(", to: "false && is_array(" },
    // Values that can be any JSON, such as those in `metadata`: text must not become an array.
    {
      folder: "lib",
      from: "settype($data, 'array');\n            return $data;",
      to: "return is_object($data) ? (array) $data : $data;",
    },
  ],
};

async function replaceInFiles(client: string, { folder, from, to }: Repair): Promise<void> {
  let isFound = false;
  for await (const { name, isFile } of Deno.readDir(join(client, folder))) {
    if (!isFile) continue;
    const path = join(client, folder, name);
    const code = await Deno.readTextFile(path);
    const repaired = code.replaceAll(from, to);
    if (repaired === code) continue;
    isFound = true;
    await Deno.writeTextFile(path, repaired);
  }
  if (!isFound) throw new Error(`The generated code does not contain ${from}`);
}
