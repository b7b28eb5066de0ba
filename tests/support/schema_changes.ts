/**
 * What became worse of a schema for those who rely on it: something is removed, narrower for those
 * who send it, or wider for those who are answered with it.
 */

import { isDeepStrictEqual } from "node:util";
import type { Json } from "./sandbox.ts";

/** Who sends what the schema describes: a caller to the service, or the service to a caller. */
export type Sender = "caller" | "service";

export interface SchemaChange {
  /** A component and the way into it, such as `Payment.actions[].url`. */
  subject: string;
  what: string;
  /** How many components lie around it. */
  depth: number;
}

/** Each is checked here; what is in no list would change unseen, so a test holds the document to it. */
const LOWER_BOUNDS = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const UPPER_BOUNDS = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
const FORMS = ["pattern", "format", "multipleOf", "uniqueItems"];
const STRUCTURE = [
  ...["$ref", "type", "enum", "const", "default", "properties", "required", "items", "allOf"],
  ...["oneOf", "anyOf", "additionalProperties"],
];
/** Of these nothing depends on the wire. */
const WORDS = ["description", "title", "example", "examples", "deprecated", "discriminator"];
export const KNOWN_KEYWORDS = [...LOWER_BOUNDS, ...UPPER_BOUNDS, ...FORMS, ...STRUCTURE, ...WORDS];

interface At {
  subject: string;
  depth: number;
  /** The components around, so that one that holds itself is gone through once: what they were and are. */
  around: string[];
}

/** Both schemas may refer to components, each to those of its own document. */
export function schemaChanges(
  [released, before]: [Json, Json],
  [current, after]: [Json, Json],
  sender: Sender,
  around: At["around"] = [],
): SchemaChange[] {
  const changes: SchemaChange[] = [];
  compare(before, after, { subject: "body", depth: 0, around });
  return changes;

  function compare(before: Json, after: Json, at: At): void {
    const [name, newName] = [before, after].map(componentName);
    const pair = `${name} ${newName}`;
    const place = name
      ? { subject: name, depth: at.around.length, around: [...at.around, pair] }
      : at;
    const was = flattened(released, before);
    const is = flattened(current, after);
    const report: Report = (what, subject = place.subject) =>
      void changes.push({ subject, what, depth: place.depth });
    // What takes a component's place is a matter of whoever holds it.
    const holder = at.subject === "body" ? place : at;
    const reportHere = (what: string) => void changes.push({ ...holder, what });

    if (sender === "caller" && isNullable(was) && !isNullable(is)) {
      reportHere("may not be null now");
    }
    if (sender === "service" && !isNullable(was) && isNullable(is)) reportHere("may be null now");
    if (name && at.around.includes(pair)) return;
    if (was.alternatives || is.alternatives) compareAlternatives(was, is, place, report);
    // Between one thing and several, that has told everything.
    if (!was.alternatives !== !is.alternatives) return;
    const [narrow, wide] = sender === "caller" ? [was, is] : [is, was];
    // Beside alternatives a type may go unsaid, since each of them says its own.
    const isSaid = !was.alternatives || (typesOf(was) !== null && typesOf(is) !== null);
    if (isSaid && !isWithin(typesOf(narrow), typesOf(wide))) {
      return reportHere(`type was ${typesOf(was) ?? "any"}, is ${typesOf(is) ?? "any"}`);
    }
    compareValues(was, is, report);
    compareMembers(was, is, place, report);
    if (was.items || is.items) {
      compare(was.items ?? {}, is.items ?? {}, { ...place, subject: `${place.subject}[]` });
    }
  }

  function compareValues(was: Json, is: Json, report: Report): void {
    // What is added to a list of values breaks nobody: callers are told to expect that.
    for (const value of was.enum ?? []) {
      if (value !== null && is.enum && !is.enum.includes(value)) {
        report(`${JSON.stringify(value)} removed`);
      }
    }
    const [narrow, wide] = sender === "caller" ? [was, is] : [is, was];
    if (wide.enum && !narrow.enum) {
      report(
        sender === "caller" ? `only ${list(is.enum)} now` : `no longer only ${list(was.enum)}`,
      );
    }
    for (const keyword of [...LOWER_BOUNDS, ...UPPER_BOUNDS]) {
      const sign = LOWER_BOUNDS.includes(keyword) ? 1 : -1;
      const bound = (schema: Json) => sign * (schema[keyword] ?? -sign * Infinity);
      if (bound(wide) > bound(narrow)) report(told(keyword, was, is));
    }
    // Whether another pattern takes more or less, nobody can tell.
    for (const keyword of FORMS) {
      if (wide[keyword] !== undefined && wide[keyword] !== narrow[keyword]) {
        report(told(keyword, was, is));
      }
    }
    // A new one, too, makes something else of what was left out.
    const isDefaultKept = isDeepStrictEqual(was.default, is.default);
    if (sender === "caller" && !isDefaultKept) report(told("default", was, is));
  }

  function compareMembers(was: Json, is: Json, at: At, report: Report): void {
    const required = { was: was.required ?? [], is: is.required ?? [] };
    for (const [name, member] of Object.entries<Json>(was.properties ?? {})) {
      const subject = `${at.subject}.${name}`;
      const now = is.properties?.[name];
      if (!now) {
        report("removed", subject);
        continue;
      }
      const [before, after] = [required.was.includes(name), required.is.includes(name)];
      if (sender === "caller" && after && !before) report("required now", subject);
      if (sender === "service" && before && !after) report("no longer always there", subject);
      compare(member, now, { ...at, subject });
    }
    for (const name of required.is) {
      const isNew = !was.properties?.[name];
      if (sender === "caller" && isNew) report("new and required", `${at.subject}.${name}`);
    }
    if (is.additionalProperties === false) {
      const wasOpen = was.additionalProperties !== false;
      if (sender === "caller" && wasOpen) report("no other members now");
    } else if (was.additionalProperties !== false) {
      const others = [was, is].map(({ additionalProperties: each }) => each === true ? {} : each);
      if (others.some((each) => each !== undefined)) {
        compare(others[0] ?? {}, others[1] ?? {}, { ...at, subject: `${at.subject}.*` });
      }
    }
  }

  /** New ones break nobody, as new values do not. */
  function compareAlternatives(was: Json, is: Json, at: At, report: Report): void {
    if (!was.alternatives) {
      // Null was looked at already; what stands beside the alternatives holds for each of them.
      const { alternatives, ...beside } = is;
      const isStillTaken = sender === "caller" &&
        alternatives.some(([, each]: [string, Json]) => {
          const [before, after] = [{ ...was, isNullable: false }, { ...beside, allOf: [each] }];
          return schemaChanges([released, before], [current, after], sender, at.around)
            .length === 0;
        });
      if (!isStillTaken) report("was one thing, is one of several");
    } else if (!is.alternatives) {
      report("was one of several, is one thing");
    } else {
      for (const [name, schema] of was.alternatives) {
        const now = new Map<string, Json>(is.alternatives).get(name);
        if (now) compare(schema, now, at);
        else report(`${name} removed`);
      }
    }
  }
}

type Report = (what: string, subject?: string) => void;

/** With what it refers to and what it is put together from in one, later parts before earlier ones. */
function flattened(document: Json, schema: Json): Json {
  const { $ref, allOf = [], oneOf, anyOf, const: only, ...own } = schema;
  const parts: Json[] = allOf.map((part: Json) => flattened(document, part));
  if ($ref) parts.push(flattened(document, componentOf(document, $ref)));
  const alternative = onlyAlternative(schema);
  if (alternative) parts.push(flattened(document, alternative));
  parts.push(own);
  const whole = Object.assign({}, ...parts);
  const properties = Object.assign({}, ...parts.map((part) => part.properties));
  const required = new Set(parts.flatMap((part) => part.required ?? []));
  const all = oneOf ?? anyOf;
  return {
    ...whole,
    ...strictestBounds(parts),
    ...Object.keys(properties).length > 0 && { properties },
    ...required.size > 0 && { required: [...required] },
    ...only !== undefined && { enum: [only] },
    ...all && { isNullable: all.some(isNull) },
    ...all && !alternative && { alternatives: all.filter(isNotNull).map(named) },
  };
}

/** Of what has to hold for several parts at once. */
function strictestBounds(parts: Json[]): Json {
  const bounds: Json = {};
  for (const keyword of [...LOWER_BOUNDS, ...UPPER_BOUNDS]) {
    const all = parts.map((part) => part[keyword]).filter((bound) => bound !== undefined);
    const strictest = LOWER_BOUNDS.includes(keyword) ? Math.max : Math.min;
    if (all.length > 0) bounds[keyword] = strictest(...all);
  }
  return bounds;
}

/** Of a schema that is one thing or null: the thing. */
function onlyAlternative({ oneOf, anyOf = oneOf }: Json): Json {
  return anyOf?.length === 2 && anyOf.some(isNull) ? anyOf.find(isNotNull) : undefined;
}

function componentName(schema: Json): string | undefined {
  const ref = schema.$ref ?? onlyAlternative(schema)?.$ref;
  return ref && nameOf(ref);
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

/** Itself, or the component that it refers to. */
export function resolved(document: Json, part: Json): Json {
  return part?.$ref ? componentOf(document, part.$ref) : part;
}

function componentOf(document: Json, ref: string): Json {
  const [, section, kind, name] = ref.split("/");
  const component = document[section!]?.[kind!]?.[name!];
  if (!component) throw new Error(`${ref} leads nowhere`);
  return component;
}

function nameOf(ref: string): string {
  return ref.split("/").at(-1)!;
}

function isNullable(flat: Json): boolean {
  const types = flat.type === undefined ? [] : [flat.type].flat();
  return flat.isNullable ?? (types.includes("null") || flat.enum?.includes(null) === true);
}

/** Less null, which is looked at by itself; null where any will do. */
function typesOf(flat: Json): string[] | null {
  return flat.type === undefined ? null : [flat.type].flat().filter((type) => type !== "null");
}

function isWithin(narrow: string[] | null, wide: string[] | null): boolean {
  if (wide === null) return true;
  return narrow !== null &&
    narrow.every((type) => wide.includes(type) || (type === "integer" && wide.includes("number")));
}

function told(keyword: string, was: Json, is: Json): string {
  const [before, after] = [was, is].map((schema) => JSON.stringify(schema[keyword]) ?? "none");
  return `${keyword} was ${before}, is ${after}`;
}

function list(values: Json[]): string {
  return values.map((value) => JSON.stringify(value)).join(", ");
}
