import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { toOpenApi30 } from "../../sdk/openapi_3_0.ts";
import { hasProgram } from "../support/programs.ts";
import { PROJECT } from "../support/project.ts";
import { DOWNLOAD_ENV, preparedFolder, runTask, startService } from "../support/service.ts";

const document = JSON.parse(await Deno.readTextFile(join(PROJECT, "openapi/openapi.json")));

Deno.test("OpenAPI 3.0 conversion: expresses null, constants, limits and references as 3.0 does", () => {
  const convert = (schema: object) => {
    const info = { title: "A", summary: "B", license: { name: "MIT", identifier: "MIT" } };
    return toOpenApi30({ info, components: { schemas: { A: schema } } }).components.schemas.A;
  };
  const reference = { $ref: "#/components/schemas/B" };
  const cases: [from: object, to: object][] = [
    [{ type: ["string", "null"] }, { type: "string", nullable: true }],
    [{ type: ["string", "integer"] }, {}],
    [{ const: "gopay" }, { enum: ["gopay"] }],
    [{ type: "integer", exclusiveMinimum: 0 }, {
      type: "integer",
      minimum: 0,
      exclusiveMinimum: true,
    }],
    [{ anyOf: [reference, { type: "null" }] }, { nullable: true, allOf: [reference] }],
    [{ ...reference, description: "left out" }, reference],
    [{ type: "object", additionalProperties: {} }, { type: "object", additionalProperties: true }],
    [{ properties: { example: { type: ["string", "null"] } } }, {
      properties: { example: { type: "string", nullable: true } },
    }],
    [{ items: { oneOf: [{ const: 1 }, reference] } }, {
      items: { oneOf: [{ enum: [1] }, reference] },
    }],
  ];
  for (const [from, to] of cases) assert.deepEqual(convert(from), to);
});

Deno.test("OpenAPI 3.0 conversion: leaves nothing of 3.1 in the document", () => {
  const converted = toOpenApi30(document);
  assert.deepEqual([converted.openapi, converted.webhooks], ["3.0.3", undefined]);
  assert.deepEqual(Object.keys(converted.paths), Object.keys(document.paths));
  assert.deepEqual(
    Object.keys(converted.components.schemas),
    Object.keys(document.components.schemas),
  );
  const withoutExamples = JSON.stringify(
    converted,
    (name, value) => ["example", "examples"].includes(name) ? undefined : value,
  );
  for (const keyword of ["const", "identifier", "prefixItems", "patternProperties"]) {
    assert.ok(!withoutExamples.includes(`"${keyword}":`), keyword);
  }
  assert.ok(!/"type":(\[|"null")/.test(withoutExamples));
});

/** How to run the test program of a language, and how to check that this machine can run it. */
interface Language {
  program: string;
  /** Arguments with which `program` succeeds if the libraries of the client are installed. */
  probe: string[];
  args: string[];
  env: (client: string) => Record<string, string>;
}

const LANGUAGES: Record<string, Language> = {
  python: {
    program: "python3",
    probe: ["-c", "import urllib3, dateutil, six, certifi"],
    args: [join(PROJECT, "sdk/consumer/consumer.py")],
    env: (client) => ({ PYTHONPATH: client, PYTHONDONTWRITEBYTECODE: "1" }),
  },
  php: {
    program: "php",
    probe: ["-r", 'require "GuzzleHttp/autoload.php";'],
    args: [join(PROJECT, "sdk/consumer/consumer.php")],
    env: (client) => ({ CLIENT: client }),
  },
};

for (const [language, { program, probe, args, env }] of Object.entries(LANGUAGES)) {
  const skipped = `the test of the ${language} client is`;
  const canRun = await hasProgram("java", skipped, ["-version"]) &&
    await hasProgram(program, skipped, probe);
  Deno.test({
    name: `${language} client: charges, lists payments and reports a typed error`,
    ignore: !canRun,
    async fn() {
      await using folder = await preparedFolder();
      const dist = await Deno.makeTempDir({ prefix: "payment-gateway-language-" });
      try {
        const [built, service] = await Promise.all([
          runTask(["sdk", "--language", language, dist], DOWNLOAD_ENV),
          startService({ settings: { DATA_DIR: folder.path } }),
        ]);
        await using _service = service;
        assert.equal(built.code, 0, built.stdout + built.stderr);
        const settings = { url: service.url, key: service.keys.user, idempotencyKey: randomUUID() };
        const { stdout, stderr } = await new Deno.Command(program, {
          args,
          env: { ...env(join(dist, language)), CONSUMER: JSON.stringify(settings) },
          stdin: "null",
        }).output();
        const [output, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
        assert.ok(output, errors);
        assert.deepEqual(JSON.parse(output), {
          charge: ["Payment", "pending", "3000000000.00", true, true],
          list: ["PaymentSummary", true, 1],
          error: [400, "validation_error", "gross_amount"],
        });
      } finally {
        await Deno.remove(dist, { recursive: true });
      }
    },
  });
}

Deno.test("deno task sdk: names the languages if the language is unknown", async () => {
  const { code, stderr } = await runTask(["sdk", "--language", "cobol"], DOWNLOAD_ENV);
  assert.notEqual(code, 0);
  assert.match(stderr, /--language must be one of python, php, java, kotlin/);
});
