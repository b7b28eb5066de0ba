/** Merges a schema with its references and compositions into one schema. */

import { isDeepStrictEqual } from "node:util";
import type { Json } from "../gateway/sandbox.ts";

export const LOWER_BOUNDS = [
  "minimum",
  "exclusiveMinimum",
  "minLength",
  "minItems",
  "minProperties",
];
export const UPPER_BOUNDS = [
  "maximum",
  "exclusiveMaximum",
  "maxLength",
  "maxItems",
  "maxProperties",
];
export const FORMS = ["pattern", "format", "multipleOf", "uniqueItems"];

/** The schema with its references and `allOf` merged. */
export function flattened(document: Json, schema: Json): Json {
  const { $ref, allOf = [], oneOf, anyOf, const: only, ...own } = schema;
  const alternative = onlyAlternative(schema);
  const all = oneOf ?? anyOf;
  const parts: Json[] = [
    ...allOf.map((part: Json) => flattened(document, part)),
    ...$ref ? [flattened(document, componentOf(document, $ref))] : [],
    ...all ? [{ isNullable: all.some(isNull) }] : [],
    { ...own, ...only !== undefined && { enum: [only] } },
  ];
  const nullable = parts.filter(declaresNullability);
  const alternativeParts = alternative ? [flattened(document, alternative)] : [];
  return {
    ...combine([...alternativeParts, ...parts]),
    ...nullable.length > 0 && { isNullable: nullable.every(isNullable) },
    ...all && !alternative && { alternatives: all.filter(isNotNull).map(named) },
  };
}

/** Merges parts: if several parts constrain the same keyword, all constraints apply. */
function combine(parts: Json[]): Json {
  const valuesOf = (keyword: string) =>
    parts.map((part) => part[keyword]).filter((value) => value !== undefined);
  const whole: Json = Object.assign({}, ...parts);
  for (const keyword of [...LOWER_BOUNDS, ...UPPER_BOUNDS]) {
    const strictest = LOWER_BOUNDS.includes(keyword) ? Math.max : Math.min;
    if (valuesOf(keyword).length > 0) whole[keyword] = strictest(...valuesOf(keyword));
  }
  for (const keyword of FORMS) {
    const forms = [...new Set(valuesOf(keyword).flat())];
    if (forms.length > 1) whole[keyword] = forms.sort();
  }
  const types = valuesOf("type").map((type): string[] => [type].flat());
  if (types.length > 0) whole.type = types.reduce(commonTypes);
  const enums: Json[][] = valuesOf("enum");
  if (enums.length > 0) {
    whole.enum = enums.reduce((a, b) => a.filter((value) => b.includes(value)));
  }
  const required = new Set(valuesOf("required").flat());
  if (required.size > 0) whole.required = [...required];
  const items = valuesOf("items");
  if (items.length > 0) whole.items = intersect(items);
  const others = valuesOf("additionalProperties").filter((each) => each !== true);
  if (others.length > 0) {
    whole.additionalProperties = others.includes(false) ? false : intersect(others);
  }
  const members = valuesOf("properties").flatMap((each) => Object.entries<Json>(each));
  if (members.length > 0) {
    const byName = Map.groupBy(members, ([name]) => name);
    whole.properties = Object.fromEntries(
      [...byName].map(([name, same]) => [name, intersect(same.map(([, member]) => member))]),
    );
  }
  return whole;
}

/** A schema for values that match all of these schemas. */
function intersect(schemas: Json[]): Json {
  const different = schemas.filter((schema, index) =>
    schemas.findIndex((each) => isDeepStrictEqual(each, schema)) === index
  );
  return different.length === 1 ? different[0] : { allOf: different };
}

function commonTypes(a: string[], b: string[]): string[] {
  const isIn = (type: string, types: string[]) =>
    types.includes(type) || (type === "integer" && types.includes("number"));
  return [
    ...new Set([
      ...a.filter((type) => isIn(type, b)),
      ...b.filter((type) => isIn(type, a)),
    ]),
  ];
}

/** The alternative that is not `null`, if the schema has exactly two and one is `null`. */
function onlyAlternative({ oneOf, anyOf = oneOf }: Json): Json {
  return anyOf?.length === 2 && anyOf.some(isNull) ? anyOf.find(isNotNull) : undefined;
}

export function componentName(schema: Json): string | undefined {
  const ref = schema.$ref ?? onlyAlternative(schema)?.$ref;
  return ref && nameOf(ref);
}

/** The components that a schema references, directly or through its parts. */
export function componentsIn(schema: Json): Set<string> {
  const { $ref, allOf = [] } = schema;
  const ref = $ref ?? onlyAlternative(schema)?.$ref;
  const parts: Json[] = allOf;
  return new Set([
    ...ref ? [nameOf(ref)] : [],
    ...parts.flatMap((each) => [...componentsIn(each)]),
  ]);
}

function isNull({ type }: Json): boolean {
  return type === "null";
}

function isNotNull(schema: Json): boolean {
  return !isNull(schema);
}

function named(schema: Json, index: number): [string, Json] {
  return [schema.$ref ? nameOf(schema.$ref) : `alternative ${index + 1}`, schema];
}

/** The schema, or the component that it references. */
export function resolved(document: Json, part: Json): Json {
  return part?.$ref ? componentOf(document, part.$ref) : part;
}

function componentOf(document: Json, ref: string): Json {
  const [, section, kind, name] = ref.split("/");
  const component = document[section!]?.[kind!]?.[name!];
  if (!component) throw new Error(`${ref} does not exist`);
  return component;
}

function nameOf(ref: string): string {
  return ref.split("/").at(-1)!;
}

function declaresNullability(flat: Json): boolean {
  return [flat.isNullable, flat.type, flat.enum].some((each) => each !== undefined);
}

export function isNullable(flat: Json): boolean {
  const types = flat.type === undefined ? [] : [flat.type].flat();
  return flat.isNullable ?? (types.includes("null") || flat.enum?.includes(null) === true);
}
