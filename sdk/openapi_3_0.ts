/**
 * Converts the OpenAPI document from version 3.1 to 3.0, for openapi-generator 4, which reads only
 * 3.0. What 3.0 or the generated code cannot express is left out or written more simply.
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
  const { webhooks: _, jsonSchemaDialect: __, info, ...rest } = {
    ...document,
    paths: splitOperations(document.paths ?? {}),
    components: mergeUnions(document.components),
  };
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

/**
 * A generated method has one result type. So an operation that returns a job if it is called with
 * `Prefer: respond-async` becomes two operations. The asynchronous one has the same path without
 * the slash at the end, because a path and method can have only one operation; the service accepts
 * both. Operations that return a stream are left out, because the generated method would never end.
 */
function splitOperations(paths: Json): Json {
  const result: Json = {};
  for (const [path, methods] of Object.entries<Json>(paths)) {
    for (const [method, operation] of Object.entries<Json>(methods)) {
      const { operationId, parameters = [], responses } = operation;
      if (responses["200"]?.content?.["text/event-stream"]) continue;
      const add = (path: string, changes: Json) =>
        (result[path] ??= {})[method] = { ...operation, ...changes };
      const prefer = parameters.find(({ name }: Json) => name === "Prefer");
      if (!prefer) {
        add(path, {});
        continue;
      }
      const others = parameters.filter((each: Json) => each !== prefer);
      const { "202": accepted, ...otherResponses } = responses;
      const { "200": _, "201": __, ...errors } = otherResponses;
      add(path, { parameters: others, responses: otherResponses });
      add(path.replace(/\/$/, ""), {
        operationId: `${operationId}AsJob`,
        parameters: [{ ...prefer, required: true }, ...others],
        responses: { "202": accepted, ...errors },
      });
    }
  }
  return result;
}

/**
 * The generated code cannot choose between the members of a union without a discriminator. So such
 * a union becomes an object with the properties that all members have.
 */
function mergeUnions(components: Json): Json {
  const find = ({ $ref }: Json) => components.schemas[$ref.split("/").at(-1)];
  return {
    ...components,
    schemas: mapValues(components.schemas, (schema) => {
      if (!schema.anyOf?.every((member: Json) => member.$ref)) return schema;
      const [first, ...others]: Json[] = schema.anyOf.map(find);
      const { anyOf: _, ...rest } = schema;
      const isShared = (name: string) => others.every(({ properties }) => properties[name]);
      const shared = Object.keys(first.properties).filter(isShared);
      return {
        ...rest,
        type: "object",
        properties: Object.fromEntries(shared.map((name) => {
          const { type = "object", format, description } = first.properties[name];
          return [name, { type, ...(format && { format }), ...(description && { description }) }];
        })),
        required: shared,
      };
    }),
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
  // The generated Java does not compile if the classes of a union limit the property that tells
  // them apart.
  if (result.type === "string" && result.enum?.length === 1) {
    result.default = result.enum[0];
    delete result.enum;
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
  // The generated code treats a value of the type `object` as any JSON.
  const isTyped = ["type", "enum", "oneOf", "anyOf", "properties"].some((each) => each in result);
  if (!isTyped) {
    result.type = "object";
    if (!schema.type) result.nullable = true;
  }
  for (
    const [limit, exclusive] of [["minimum", "exclusiveMinimum"], ["maximum", "exclusiveMaximum"]]
  ) {
    if (typeof result[exclusive!] !== "number") continue;
    result[limit!] = result[exclusive!];
    result[exclusive!] = true;
  }
  if (result.properties) {
    // The generated code accepts null in a reference only if the property is optional.
    const isNullableReference = (name: string) =>
      result.properties[name]?.anyOf && referenceOf(result.properties[name]);
    result.required = result.required?.filter((name: string) => !isNullableReference(name));
    if (!result.required?.length) delete result.required;
    result.properties = mapValues(result.properties, convertSchema);
  }
  if (result.items) {
    result.items = convertSchema(result.items);
    // The generated Python compares the items of a list with an enum even if the list is null.
    if (result.nullable) delete result.items.enum;
  }
  if (typeof result.additionalProperties === "object") {
    const hasRules = Object.keys(result.additionalProperties).length > 0;
    result.additionalProperties = hasRules ? convertSchema(result.additionalProperties) : true;
  }
  for (const keyword of ["oneOf", "anyOf", "allOf"]) {
    if (result[keyword]) result[keyword] = result[keyword].map(convertSchema);
  }
  return convertNullableUnion(result);
}

/** `anyOf: [schema, null]` becomes the schema with `nullable`, or the reference alone. */
function convertNullableUnion(schema: Json): Json {
  const { anyOf, ...rest } = schema;
  if (!anyOf?.some(isNull)) return schema;
  const others: Json[] = anyOf.filter((member: Json) => !isNull(member));
  if (others.length > 1) return { ...rest, nullable: true, anyOf: others };
  return referenceOf(schema) ?? { ...others[0], ...rest, nullable: true };
}

/** The reference in `anyOf: [reference, null]`. */
function referenceOf({ anyOf }: Json): Json {
  const others = anyOf.filter((member: Json) => !isNull(member));
  return others.length === 1 && others[0].$ref ? others[0] : undefined;
}

function isNull({ type }: Json): boolean {
  return type === "null";
}

function mapValues(members: Record<string, Json>, convert: (member: Json) => Json): Json {
  return Object.fromEntries(Object.entries(members).map(([name, each]) => [name, convert(each)]));
}
