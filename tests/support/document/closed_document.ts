/** The document with closed schemas: undeclared members are errors unless a schema allows them. */

import type { Json } from "../gateway/sandbox.ts";

/** Clients must accept new members, so the document allows them. Tests must reject them. */
export function closed(document: Json): Json {
  const { schemas, ...components } = document.components;
  return {
    ...document,
    paths: closeSchemas(document.paths),
    components: {
      ...components,
      // Components stay open, because other schemas combine them. Each use of one is closed.
      schemas: mapValues(schemas, (schema) => close(schema, true)),
    },
  };
}

function closeSchemas(value: Json): Json {
  if (Array.isArray(value)) return value.map(closeSchemas);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries<Json>(value).map(([name, member]) => [
      name,
      name === "schema" ? close(member, false) : closeSchemas(member),
    ]),
  );
}

/** `isPart`: the schema is part of another one, which declares further members. */
function close(schema: Json, isPart: boolean): Json {
  const { properties, items, allOf, anyOf, oneOf, $ref, additionalProperties } = schema;
  const hasMembers = [properties, allOf, anyOf, oneOf, $ref].some((each) => each !== undefined);
  return {
    ...schema,
    ...properties && { properties: mapValues(properties, (member) => close(member, false)) },
    ...items && { items: close(items, false) },
    ...allOf && { allOf: closeParts(allOf) },
    ...anyOf && { anyOf: closeParts(anyOf) },
    ...oneOf && { oneOf: closeParts(oneOf) },
    ...!isPart && hasMembers && additionalProperties === undefined &&
      { unevaluatedProperties: false },
  };
}

function closeParts(parts: Json[]): Json[] {
  return parts.map((part) => close(part, true));
}

function mapValues(record: Json, change: (value: Json) => Json): Json {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}
