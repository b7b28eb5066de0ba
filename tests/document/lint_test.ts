import assert from "node:assert/strict";
import { join } from "node:path";
import { lintByRedocly, lintBySpectral, readRules, RULES } from "../support/document/linters.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { dataFolder, PROJECT } from "../support/project.ts";

const PATH = join(PROJECT, "openapi/openapi.json");
const text = await Deno.readTextFile(PATH);

/** What each of the linters has to find, where the document has it. */
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
    spectral:
      'oas3-valid-schema-example components/schemas/Caller/properties/is_staff/example: "example"',
  },
];

Deno.test("Redocly has nothing to say of the document", async () => {
  assert.deepEqual(await lintByRedocly(PATH), []);
});

Deno.test("Spectral has nothing to say of the document", async () => {
  assert.deepEqual(await lintBySpectral(text), []);
});

Deno.test("both name what is wrong", async () => {
  await using folder = await dataFolder();
  const broken = JSON.parse(text);
  for (const { make } of MISTAKES) make(broken);
  const path = join(folder.path, "broken.json");
  await Deno.writeTextFile(path, JSON.stringify(broken));
  const found = {
    redocly: await lintByRedocly(path),
    spectral: await lintBySpectral(JSON.stringify(broken)),
  };
  for (const { what, redocly, spectral } of MISTAKES) {
    assert.ok(found.redocly.some((line) => line.startsWith(redocly)), `${what}: ${found.redocly}`);
    assert.ok(
      found.spectral.some((line) => line.startsWith(spectral)),
      `${what}: ${found.spectral}`,
    );
  }
});

Deno.test("nothing of what Redocly finds is left out", async () => {
  const names = (await Array.fromAsync(Deno.readDir(PROJECT))).map(({ name }) => name);
  assert.ok(names.includes(RULES.redocly));
  // It reads a list of findings to ignore from beside its rules.
  assert.deepEqual(names.filter((name) => /lint-ignore/.test(name)), []);
});

Deno.test("of each one's strictest rules, that of the last slash alone is off", async () => {
  assert.deepEqual(await readRules(RULES.redocly), {
    extends: ["recommended-strict"],
    rules: { "no-path-trailing-slash": "off" },
  });
  assert.deepEqual(await readRules(RULES.spectral), {
    extends: "spectral:oas",
    rules: { "path-keys-no-trailing-slash": "off" },
  });
});
