/**
 * Gives examples of headers and path parameters the names of the examples that they belong to.
 * Tools that send the examples, such as Specmatic, combine a request and a response by these names.
 */

// deno-lint-ignore no-explicit-any -- any part of the document
type Json = any;

/** The name of the examples of parameters (`unsentExample`). */
const UNNAMED = "example";

export function nameExamples({ paths = {} }: { paths?: Json }): void {
  const operations = Object.values<Json>(paths).flatMap((path) => Object.values<Json>(path));
  for (const { parameters = [], requestBody, responses } of operations) {
    for (const { headers, content } of Object.values<Json>(responses)) {
      for (const header of Object.values<Json>(headers ?? {})) nameHeader(header, namesIn(content));
    }
    const hasEmptyResponse = responses["204"] !== undefined;
    const names = hasEmptyResponse ? [UNNAMED] : namesIn(requestBody?.content);
    const inPath = parameters.filter((parameter: Json) => parameter.in === "path");
    for (const parameter of names.length > 0 ? inPath : []) {
      parameter.examples = named(names, parameter.schema.example);
    }
  }
}

/**
 * Only required headers: others may be absent in an example. Headers that responses share are
 * references, which have no example of their own.
 */
function nameHeader(header: Json, names: string[]): void {
  if (!header.required || header.example === undefined || names.length === 0) return;
  header.examples = named(names, header.example);
  delete header.example;
}

function namesIn(content: Json): string[] {
  return Object.values<Json>(content ?? {}).flatMap(({ examples }) => Object.keys(examples ?? {}));
}

function named(names: string[], value: Json): Json {
  return Object.fromEntries(names.map((name) => [name, { value }]));
}
