/**
 * Converts the OpenAPI document from version 3.1 to 3.0, for generators that read only 3.0. What
 * 3.0 cannot express is left out, so that the result allows more than the original, never less.
 */

// deno-lint-ignore no-explicit-any -- any JSON
type Json = any;

/**
 * Keywords of schemas that 3.0 does not have, and `pattern`, which openapi-generator rejects in
 * Python unless it begins with a slash. The service checks patterns anyway.
 */
const OMITTED_KEYWORDS = ["patternProperties", "propertyNames", "prefixItems", "pattern"];

/** Returns a new document. */
export function toOpenApi30(document: Json): Json {
  const { webhooks: _, jsonSchemaDialect: __, info, ...rest } = document;
  const { summary: ___, license: { identifier, ...license }, ...otherInfo } = info;
  return {
    ...convertMembers(rest),
    openapi: "3.0.3",
    info: {
      ...otherInfo,
      license: {
        ...license,
        ...(identifier && { url: `https://spdx.org/licenses/${identifier}` }),
      },
    },
  };
}

/** Converts the schemas in this part of the document. */
function convertMembers(value: Json): Json {
  if (Array.isArray(value)) return value.map(convertMembers);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries<Json>(value).map(([name, member]) => {
      if (name === "example" || name === "examples" || name === "default") return [name, member];
      if (name === "schema") return [name, convertSchema(member)];
      if (name === "schemas") return [name, mapValues(member, convertSchema)];
      return [name, convertMembers(member)];
    }),
  );
}

function convertSchema(schema: Json): Json {
  // In 3.0, members next to a reference are ignored, and some generators reject them.
  if (schema.$ref) return { $ref: schema.$ref };
  const result = { ...schema };
  for (const keyword of OMITTED_KEYWORDS) delete result[keyword];
  if ("const" in result) {
    result.enum = [result.const];
    delete result.const;
  }
  if (Array.isArray(result.examples)) {
    result.example ??= result.examples[0];
    delete result.examples;
  }
  if (Array.isArray(result.type)) {
    const types = result.type.filter((type: string) => type !== "null");
    if (types.length < result.type.length) result.nullable = true;
    if (types.length === 1) result.type = types[0];
    else delete result.type;
  }
  for (
    const [limit, exclusive] of [["minimum", "exclusiveMinimum"], ["maximum", "exclusiveMaximum"]]
  ) {
    if (typeof result[exclusive!] !== "number") continue;
    result[limit!] = result[exclusive!];
    result[exclusive!] = true;
  }
  if (result.properties) result.properties = mapValues(result.properties, convertSchema);
  if (result.items) result.items = convertSchema(result.items);
  if (typeof result.additionalProperties === "object") {
    const hasRules = Object.keys(result.additionalProperties).length > 0;
    result.additionalProperties = hasRules ? convertSchema(result.additionalProperties) : true;
  }
  for (const keyword of ["oneOf", "anyOf", "allOf"]) {
    if (result[keyword]) result[keyword] = result[keyword].map(convertSchema);
  }
  return convertNullableUnion(result);
}

/**
 * `anyOf: [schema, null]` becomes `allOf: [schema]` with `nullable`. In longer unions, `nullable`
 * replaces the member `null`.
 */
function convertNullableUnion(schema: Json): Json {
  for (const keyword of ["oneOf", "anyOf"]) {
    const members: Json[] = schema[keyword] ?? [];
    const others = members.filter(({ type }) => type !== "null");
    if (others.length === members.length) continue;
    const { [keyword]: _, ...rest } = schema;
    // A single schema is put into `allOf`, because a reference cannot have `nullable` next to it.
    return { ...rest, nullable: true, [others.length === 1 ? "allOf" : keyword]: others };
  }
  return schema;
}

function mapValues(members: Record<string, Json>, convert: (member: Json) => Json): Json {
  return Object.fromEntries(Object.entries(members).map(([name, each]) => [name, convert(each)]));
}
