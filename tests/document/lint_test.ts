import assert from "node:assert/strict";
import { join } from "node:path";
import { lintByRedocly, lintBySpectral, readRules, RULES } from "../support/document/linters.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { createDataFolder, PROJECT } from "../support/project.ts";

const PATH = join(PROJECT, "openapi/openapi.json");
const text = await Deno.readTextFile(PATH);

/** Mistakes, and a part of the findings that each linter must report for them. */
const MISTAKES = [
  {
    what: "an operation without an id",
    make: (document: Json) => delete document.paths["/charge/"].post.operationId,
    redocly: "operation-operationId #/paths/~1charge~1/post",
    spectral: "operation-operationId paths//charge//post",
  },
  {
    what: "a component that nothing uses",
    make: (document: Json) => document.components.schemas.Forgotten = { type: "string" },
    redocly: "no-unused-components #/components/schemas/Forgotten",
    spectral: "oas3-unused-component components/schemas/Forgotten",
  },
  {
    what: "an example that its schema does not allow",
    make: (document: Json) => document.components.schemas.Caller.properties.is_staff.example = 7,
    redocly: "no-invalid-schema-examples #/components/schemas/Caller/properties/is_staff/example",
    // Spectral reports it wherever the schema is used.
    spectral: '/properties/is_staff/example: "example"',
  },
];

// One run of each linter, on a document with mistakes: a finding that is not one of the mistakes
// is a finding about the project's own document.
Deno.test("document lint: Redocly and Spectral report each mistake, and nothing else", async () => {
  await using folder = await createDataFolder();
  const broken = JSON.parse(text);
  for (const { make } of MISTAKES) make(broken);
  const path = join(folder.path, "broken.json");
  await Deno.writeTextFile(path, JSON.stringify(broken));
  const found = {
    redocly: await lintByRedocly(path),
    spectral: await lintBySpectral(JSON.stringify(broken)),
  };
  for (const linter of ["redocly", "spectral"] as const) {
    for (const mistake of MISTAKES) {
      const isFound = found[linter].some((line) => line.includes(mistake[linter]));
      assert.ok(isFound, `${linter} must report ${mistake.what}: ${found[linter]}`);
    }
    const others = found[linter].filter((line) =>
      !MISTAKES.some((mistake) => line.includes(mistake[linter]))
    );
    assert.deepEqual(others, [], linter);
  }
});

Deno.test("document lint: no finding of Redocly is ignored", async () => {
  const names = (await Array.fromAsync(Deno.readDir(PROJECT))).map(({ name }) => name);
  assert.ok(names.includes(RULES.redocly));
  // Redocly reads a list of ignored findings from the folder of its rules.
  assert.deepEqual(names.filter((name) => /lint-ignore/.test(name)), []);
});

Deno.test("document lint: of each linter's standard rules, only the rule about trailing slashes is off", async () => {
  assert.deepEqual(await readRules(RULES.redocly), {
    extends: ["recommended-strict"],
    rules: { "no-path-trailing-slash": "off" },
  });
  assert.deepEqual(await readRules(RULES.spectral), {
    extends: "spectral:oas",
    rules: { "path-keys-no-trailing-slash": "off" },
  });
});
