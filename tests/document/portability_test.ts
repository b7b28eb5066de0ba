import assert from "node:assert/strict";
import type { Json } from "../support/gateway/sandbox.ts";

const { paths, webhooks, components } = JSON.parse(
  await Deno.readTextFile(new URL("../../openapi/openapi.json", import.meta.url)),
);

interface Place {
  path: string;
  schema: Json;
}

/** Every object in the document, so also every schema, with its path; no examples or defaults. */
function* schemasIn(value: Json, path = ""): Generator<Place> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield { path, schema: value };
  for (const [name, member] of Object.entries(value)) {
    if (!["example", "examples", "default"].includes(name)) {
      yield* schemasIn(member, `${path}/${name}`);
    }
  }
}

const SCHEMAS = [...schemasIn({ paths, webhooks, schemas: components.schemas })];

/** The paths of the schemas that a condition holds for. */
function pathsWhere(isWrong: (schema: Json) => boolean): string[] {
  return SCHEMAS.filter(({ schema }) => isWrong(schema)).map(({ path }) => path);
}

Deno.test("OpenAPI document: declares int64 for every integer that can exceed 32 bits", () => {
  const isTooLarge = ({ type, format, minimum, maximum }: Json) =>
    type === "integer" && format !== "int64" &&
    (maximum > 2 ** 31 - 1 || minimum < -(2 ** 31));
  assert.deepEqual(pathsWhere(isTooLarge), []);
  const amounts = SCHEMAS.filter(({ schema }) => schema.format === "int64");
  assert.ok(amounts.length >= 15, `${amounts.length} integers of 64 bits`);
});

Deno.test("OpenAPI document: has only patterns that other languages can compile", () => {
  const patterns = SCHEMAS.filter(({ schema }) => typeof schema.pattern === "string");
  assert.ok(patterns.length > 10);
  // Go has no look-arounds and no back-references; Python has no Unicode classes.
  const isUnportable = ({ pattern }: Json) =>
    typeof pattern === "string" && /\(\?[=!<]|\\[1-9]|\\[pP]\{/.test(pattern);
  assert.deepEqual(pathsWhere(isUnportable), []);
});

Deno.test("OpenAPI document: has no allOf and no null in an enum, which generators reject", () => {
  assert.deepEqual(pathsWhere(({ allOf }) => Array.isArray(allOf)), []);
  assert.deepEqual(
    pathsWhere((schema) => Array.isArray(schema.enum) && schema.enum.includes(null)),
    [],
  );
});

/** Registered formats that generators know. */
const FORMATS = ["date", "date-time", "email", "int32", "int64", "uri", "uuid"];

Deno.test("OpenAPI document: uses only well-known formats", () => {
  const isUnknown = ({ format }: Json) => typeof format === "string" && !FORMATS.includes(format);
  assert.deepEqual(pathsWhere(isUnknown), []);
});

Deno.test("OpenAPI document: has only the path parameters pk, prefix, action_name, delivery_id and difference_id", () => {
  const names = Object.keys(paths).flatMap((path) => path.match(/\{\w+\}/g) ?? []);
  // An API key has a prefix instead of an id.
  assert.deepEqual([...new Set(names)].sort(), [
    "{action_name}",
    "{delivery_id}",
    "{difference_id}",
    "{pk}",
    "{prefix}",
  ]);
});

Deno.test("OpenAPI document: declares the schema of an event for the event stream", () => {
  const { content } = paths["/events/stream/"].get.responses["200"];
  assert.deepEqual(content["text/event-stream"].schema, { $ref: "#/components/schemas/Event" });
});

Deno.test("OpenAPI document: declares which characters every limited text can have", () => {
  const limited = SCHEMAS.filter(({ schema }) => schema.type === "string" && schema.maxLength);
  assert.ok(limited.length > 50);
  assert.deepEqual(limited.filter(({ schema }) => !schema.pattern && !schema.enum), []);
});

Deno.test("OpenAPI document: gives path parameters and headers an example for each named example", () => {
  const operations = Object.values<Json>(paths).flatMap((path) => Object.values<Json>(path));
  const namesIn = (content: Json = {}) =>
    Object.values<Json>(content).flatMap(({ examples = {} }) => Object.keys(examples));
  for (const { operationId, parameters, requestBody, responses } of operations) {
    const names = namesIn(requestBody?.content);
    for (const { name, examples = {} } of parameters.filter((each: Json) => each.in === "path")) {
      const expected = responses["204"] ? ["example"] : names;
      assert.deepEqual(Object.keys(examples), expected, `${operationId}: ${name}`);
    }
    for (const { headers = {}, content } of Object.values<Json>(responses)) {
      const { Location } = headers;
      if (!Location) continue;
      assert.deepEqual(Object.keys(Location.examples), namesIn(content), operationId);
    }
  }
});

Deno.test("OpenAPI document: has no inline enum that orval names like the result of an operation", () => {
  const isInline = ({ name, schema }: Json) => name === "result" && schema?.enum !== undefined;
  assert.deepEqual(pathsWhere(isInline), []);
});
