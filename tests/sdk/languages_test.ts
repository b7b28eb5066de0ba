import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { toOpenApi30 } from "../../sdk/openapi_3_0.ts";
import { LANGUAGE_GENERATOR } from "../../sdk/tools.ts";
import { callEveryOperation } from "../support/clients/every_operation.ts";
import {
  type ClientProgram,
  OPERATION_IDS,
  startLanguageClient,
  TEXT_OPERATION_IDS,
} from "../support/clients/language_client.ts";
import { openWebhookReceiver } from "../support/events/webhook_receiver.ts";
import { hasProgram } from "../support/programs.ts";
import { PROJECT } from "../support/project.ts";
import { createConsumer, NOT_IN_SDK } from "../support/sdk.ts";
import {
  DOWNLOAD_ENV,
  preparedFolder,
  runTask,
  type ServiceProcess,
  startService,
} from "../support/service.ts";

const document = JSON.parse(await Deno.readTextFile(join(PROJECT, "openapi/openapi.json")));

Deno.test("OpenAPI 3.0 conversion: expresses null, constants, limits and references as 3.0 does", () => {
  const convert = (schema: object) => {
    const info = { title: "A", summary: "B", license: { name: "MIT", identifier: "MIT" } };
    return toOpenApi30({ info, components: { schemas: { A: schema } } }).components.schemas.A;
  };
  const reference = { $ref: "#/components/schemas/B" };
  const cases: [from: object, to: object][] = [
    [{ type: ["string", "null"] }, { type: "string", nullable: true }],
    [{ type: ["string", "integer"] }, { type: "object" }],
    [{ description: "any JSON" }, { description: "any JSON", type: "object", nullable: true }],
    [{ const: 1 }, { enum: [1] }],
    [{ type: "string", enum: ["gopay"] }, { type: "string", default: "gopay" }],
    [{ type: "integer", exclusiveMinimum: 0 }, {
      type: "integer",
      minimum: 0,
      exclusiveMinimum: true,
    }],
    [{ anyOf: [reference, { type: "null" }] }, reference],
    [
      {
        properties: { b: { anyOf: [reference, { type: "null" }] }, c: reference },
        required: ["b", "c"],
      },
      { properties: { b: reference, c: reference }, required: ["c"] },
    ],
    [{ anyOf: [{ type: "string" }, { type: "null" }], example: "d" }, {
      type: "string",
      nullable: true,
      example: "d",
    }],
    [{ type: ["array", "null"], items: { type: "string", enum: ["a", "b"] } }, {
      type: "array",
      nullable: true,
      items: { type: "string" },
    }],
    [{ ...reference, description: "left out" }, reference],
    [{ type: "object", additionalProperties: {} }, { type: "object", additionalProperties: true }],
    [{ properties: { example: { type: ["string", "null"] } } }, {
      properties: { example: { type: "string", nullable: true } },
    }],
    [{ type: "array", items: { oneOf: [{ const: 1 }, reference] } }, {
      type: "array",
      items: { oneOf: [{ enum: [1] }, reference] },
    }],
  ];
  for (const [from, to] of cases) assert.deepEqual(convert(from), to);
});

Deno.test("OpenAPI 3.0 conversion: leaves nothing of 3.1 in the document", () => {
  const converted = toOpenApi30(document);
  assert.deepEqual([converted.openapi, converted.webhooks], ["3.0.3", undefined]);
  const operationIds = (
    { paths }: { paths: Record<string, Record<string, { operationId: string }>> },
  ) =>
    Object.values(paths).flatMap((path) => Object.values(path)).map(({ operationId }) =>
      operationId
    );
  const [before, after] = [new Set(operationIds(document)), new Set(operationIds(converted))];
  assert.deepEqual(
    [[...before.difference(after)], [...after.difference(before)]],
    [["streamEvents"], ["createChargeAsJob", "refundPaymentAsJob"]],
  );
  const { type, properties } = converted.components.schemas.Event;
  assert.deepEqual([type, properties.data], ["object", { type: "object" }]);
  assert.deepEqual(
    Object.keys(converted.components.schemas),
    Object.keys(document.components.schemas),
  );
  const withoutExamples = JSON.stringify(
    converted,
    (name, value) => ["example", "examples"].includes(name) ? undefined : value,
  );
  for (const keyword of ["const", "allOf", "identifier", "prefixItems", "patternProperties"]) {
    assert.ok(!withoutExamples.includes(`"${keyword}":`), keyword);
  }
  assert.ok(!/"type":(\[|"null")/.test(withoutExamples));
});

/** The programs of a language, and how to check that this machine can run them. */
interface Language {
  /** A command that succeeds if the programs and libraries of the client are installed. */
  probe: string[];
  /** Builds the program that calls every operation. */
  client: (folder: string) => Promise<ClientProgram>;
  /** The command line of the example; Java has none. */
  example?: string[];
}

const SUPPORT = join(PROJECT, "tests/support/clients");

const LANGUAGES: Record<string, Language> = {
  python: {
    probe: ["python3", "-c", "import urllib3, dateutil, six, certifi"],
    client: (folder) =>
      Promise.resolve({
        command: ["python3", join(SUPPORT, "call.py")],
        env: { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1" },
        methods: "snake_case",
        parameters: "snake_case",
      }),
    example: ["python3", join(PROJECT, "sdk/consumer/consumer.py")],
  },
  php: {
    probe: ["php", "-r", 'require "GuzzleHttp/autoload.php"; mb_strlen("");'],
    client: (folder) =>
      Promise.resolve({
        command: ["php", join(SUPPORT, "call.php")],
        env: { CLIENT: folder },
        methods: "camelCase",
        parameters: "snake_case",
      }),
    example: ["php", join(PROJECT, "sdk/consumer/consumer.php")],
  },
  java: { probe: ["javac", "-version"], client: compileJava },
};

const skipped = "the tests of the clients in other languages are";
const hasJava = await hasProgram("java", skipped, ["-version"]);

for (
  const [language, { probe: [program, ...args], client, example }] of Object.entries(LANGUAGES)
) {
  const canRun = hasJava &&
    await hasProgram(program!, `the test of the ${language} client is`, args);
  Deno.test({
    name: `${language} client: every operation returns the whole response`,
    ignore: !canRun,
    async fn() {
      const dist = await Deno.makeTempDir({ prefix: "payment-gateway-language-" });
      try {
        const built = await runTask(["sdk", "--language", language, dist], DOWNLOAD_ENV);
        assert.equal(built.code, 0, built.stdout + built.stderr);
        await assertCallsEveryOperation(await client(join(dist, language)), example);
      } finally {
        await Deno.remove(dist, { recursive: true });
      }
    },
  });
}

Deno.test("typescript client: every operation returns the whole response", async () => {
  const source = await Deno.readTextFile(join(PROJECT, "sdk/consumer/every_operation.ts"));
  await using consumer = await createConsumer({ "every_operation.ts": source });
  await consumer.compile(["every_operation.ts"]);
  await assertCallsEveryOperation({
    command: ["node", join(consumer.path, "every_operation.js")],
    env: {},
    methods: "camelCase",
    parameters: "snake_case",
    missing: NOT_IN_SDK,
  });
});

/** Fails unless the client calls every operation that it is not known to miss. */
async function assertCallsEveryOperation(
  program: ClientProgram,
  example?: string[],
): Promise<void> {
  await using folder = await preparedFolder();
  await using receiver = openWebhookReceiver();
  await using service = await startService({ settings: { DATA_DIR: folder.path } });
  const { url, keys, sandbox } = service;
  await using client = startLanguageClient({ url, key: keys.staff }, program);
  await callEveryOperation(client.call, { sandbox, receiver: receiver.url });
  assert.deepEqual(OPERATION_IDS.filter((id) => !client.called.has(id)), program.missing ?? []);
  if (example) await runExample(example, program.env, service);
}

async function runExample(
  [program, ...args]: string[],
  env: Record<string, string>,
  { url, keys }: ServiceProcess,
): Promise<void> {
  const settings = { url, key: keys.user, idempotencyKey: randomUUID() };
  const output = await run(program!, args, { ...env, CONSUMER: JSON.stringify(settings) });
  assert.deepEqual(JSON.parse(output), {
    charge: ["Payment", "pending", "3000000000.00", true, true],
    list: ["PaymentSummary", true, 1],
    error: [400, "validation_error", "gross_amount"],
  });
}

/**
 * Compiles the client, and the program that calls it, with the libraries in openapi-generator. They
 * contain what the client needs except `jackson-databind-nullable`, which the tests replace.
 */
async function compileJava(folder: string): Promise<ClientProgram> {
  const jar = await findGenerator();
  const classes = join(folder, "classes");
  const sources = await Promise.all([join(folder, "src/main"), SUPPORT].map(findJavaFiles));
  const options = ["-nowarn", "-parameters", "-proc:none", "-cp", jar, "-d", classes];
  await run("javac", [...options, ...sources.flat()], {});
  return {
    command: ["java", "-cp", `${classes}:${jar}`, "Call"],
    env: {},
    methods: "camelCase",
    parameters: "camelCase",
    missing: TEXT_OPERATION_IDS,
  };
}

/** The program of openapi-generator in Deno's cache of npm packages. */
async function findGenerator(): Promise<string> {
  const [, name, version] = LANGUAGE_GENERATOR.match(/^npm:(.+)@(.+)$/)!;
  const { npmCache } = JSON.parse(await run(Deno.execPath(), ["info", "--json"], {}));
  return join(npmCache, "registry.npmjs.org", name!, version!, "bin/openapi-generator.jar");
}

async function findJavaFiles(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) found.push(...await findJavaFiles(path));
    else if (name.endsWith(".java")) found.push(path);
  }
  return found;
}

/** Fails if the exit code is not 0; returns the standard output. */
async function run(
  program: string,
  args: string[],
  env: Record<string, string>,
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args,
    env,
    stdin: "null",
  }).output();
  const [output, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert.ok(success, `${program}: ${output}${errors}`);
  return output!;
}

Deno.test("deno task sdk: names the languages if the language is unknown", async () => {
  const { code, stderr } = await runTask(["sdk", "--language", "cobol"], DOWNLOAD_ENV);
  assert.notEqual(code, 0);
  assert.match(stderr, /--language must be one of python, php, java, kotlin/);
});
