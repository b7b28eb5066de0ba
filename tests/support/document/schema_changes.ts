/**
 * Breaking changes of a schema: something is removed, accepts less in requests, or allows more in
 * responses.
 */

import { isDeepStrictEqual } from "node:util";
import {
  componentName,
  componentsIn,
  flattened,
  FORMS,
  isNullable,
  LOWER_BOUNDS,
  UPPER_BOUNDS,
} from "./flat_schema.ts";
import type { Json } from "../gateway/sandbox.ts";

/** Whether a caller or the service sends the value. */
export type Sender = "caller" | "service";

export interface SchemaChange {
  /** A component and the path in it, such as `Payment.actions[].url`. */
  subject: string;
  what: string;
  /** How many components enclose the changed part. */
  depth: number;
}

const STRUCTURE = [
  ...["$ref", "type", "enum", "const", "default", "properties", "required", "items", "allOf"],
  ...["oneOf", "anyOf", "additionalProperties"],
];
/** Keywords without effect on requests and responses. */
const ANNOTATIONS = ["description", "title", "example", "examples", "deprecated", "discriminator"];
/** Keywords that are compared or have no effect. A test checks that the document uses no others. */
export const KNOWN_KEYWORDS = [
  ...LOWER_BOUNDS,
  ...UPPER_BOUNDS,
  ...FORMS,
  ...STRUCTURE,
  ...ANNOTATIONS,
];

interface At {
  subject: string;
  depth: number;
  /** The enclosing components, old and new, so that recursive ones are compared once. */
  enclosing: string[];
}

/** Both schemas may reference components of their own document. */
export function schemaChanges(
  [released, before]: [Json, Json],
  [current, after]: [Json, Json],
  sender: Sender,
  enclosing: At["enclosing"] = [],
): SchemaChange[] {
  const changes: SchemaChange[] = [];
  compare(before, after, { subject: "body", depth: 0, enclosing });
  return changes;

  function compare(before: Json, after: Json, at: At): void {
    const name = componentName(before);
    const pair = [before, after].map((schema) => [...componentsIn(schema)].sort()).join(" ");
    const place = {
      ...at,
      ...name && { subject: name, depth: at.enclosing.length },
      ...pair !== NO_COMPONENTS && { enclosing: [...at.enclosing, pair] },
    };
    const was = flattened(released, before);
    const is = flattened(current, after);
    const report: Report = (what, subject = place.subject) =>
      void changes.push({ subject, what, depth: place.depth });
    // A replaced component is reported at the schema that references it.
    const holder = at.subject === "body" ? place : at;
    const reportHere = (what: string) => void changes.push({ ...holder, what });

    if (sender === "caller" && isNullable(was) && !isNullable(is)) {
      reportHere("may not be null now");
    }
    if (sender === "service" && !isNullable(was) && isNullable(is)) reportHere("may be null now");
    if (at.enclosing.includes(pair)) return;
    if (was.alternatives || is.alternatives) compareAlternatives(was, is, place, report);
    // `compareAlternatives` has already reported a change between one schema and alternatives.
    if (!was.alternatives !== !is.alternatives) return;
    const [narrow, wide] = sender === "caller" ? [was, is] : [is, was];
    // A schema with alternatives needs no type, because each alternative has its own.
    const areTypesComparable = !was.alternatives || (typesOf(was) !== null && typesOf(is) !== null);
    if (areTypesComparable && !isWithin(typesOf(narrow), typesOf(wide))) {
      return reportHere(`type was ${typesOf(was) ?? "any"}, is ${typesOf(is) ?? "any"}`);
    }
    compareValues(was, is, report);
    compareMembers(was, is, place, report);
    if (was.items || is.items) {
      compare(was.items ?? {}, is.items ?? {}, { ...place, subject: `${place.subject}[]` });
    }
  }

  function compareValues(was: Json, is: Json, report: Report): void {
    // New enum values are not breaking: callers are told to expect them.
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
      if (bound(wide) > bound(narrow)) report(describeChange(keyword, was, is));
    }
    // Whether a changed pattern accepts more or less cannot be decided.
    for (const keyword of FORMS) {
      if (wide[keyword] !== undefined && !isDeepStrictEqual(wide[keyword], narrow[keyword])) {
        report(describeChange(keyword, was, is));
      }
    }
    // A new default changes requests that leave the member out.
    const isDefaultKept = isDeepStrictEqual(was.default, is.default);
    if (sender === "caller" && !isDefaultKept) report(describeChange("default", was, is));
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
      if (sender === "service" && before && !after) report("no longer always present", subject);
      compare(member, now, { ...at, subject });
    }
    for (const name of required.is) {
      const isNew = !was.properties?.[name];
      if (sender === "caller" && isNew) report("new and required", `${at.subject}.${name}`);
    }
    if (is.additionalProperties === false) {
      const wasOpen = was.additionalProperties !== false;
      if (sender === "caller" && wasOpen) report("no other members now");
      // Only for maps. Forbidding undeclared members of other objects is not breaking.
      const wasMap = wasOpen && was.additionalProperties !== undefined;
      if (sender === "service" && wasMap) report("removed", `${at.subject}.*`);
    } else if (was.additionalProperties !== false) {
      const others = [was, is].map(({ additionalProperties: each }) => each === true ? {} : each);
      if (others.some((each) => each !== undefined)) {
        compare(others[0] ?? {}, others[1] ?? {}, { ...at, subject: `${at.subject}.*` });
      }
    }
  }

  /** New alternatives are not breaking, like new enum values. */
  function compareAlternatives(was: Json, is: Json, at: At, report: Report): void {
    if (!was.alternatives) {
      // `compare` has checked whether null is allowed. Common keywords apply to each alternative.
      const { alternatives, ...common } = is;
      const isStillAccepted = sender === "caller" &&
        alternatives.some(([, each]: [string, Json]) => {
          const [before, after] = [{ ...was, isNullable: false }, { ...common, allOf: [each] }];
          return schemaChanges([released, before], [current, after], sender, at.enclosing)
            .length === 0;
        });
      if (!isStillAccepted) report("was one schema, is one of several");
    } else if (!is.alternatives) {
      report("was one of several, is one schema");
    } else {
      for (const [name, schema] of was.alternatives) {
        const now = new Map<string, Json>(is.alternatives).get(name);
        if (now) compare(schema, now, at);
        else report(`${name} removed`);
      }
    }
  }
}

/** The value of `pair` for two schemas that reference no component. */
const NO_COMPONENTS = " ";

type Report = (what: string, subject?: string) => void;

/** The types without null, which is compared separately; null if any type is allowed. */
function typesOf(flat: Json): string[] | null {
  return flat.type === undefined ? null : [flat.type].flat().filter((type) => type !== "null");
}

function isWithin(narrow: string[] | null, wide: string[] | null): boolean {
  if (wide === null) return true;
  return narrow !== null &&
    narrow.every((type) => wide.includes(type) || (type === "integer" && wide.includes("number")));
}

function describeChange(keyword: string, was: Json, is: Json): string {
  const [before, after] = [was, is].map((schema) => JSON.stringify(schema[keyword]) ?? "none");
  return `${keyword} was ${before}, is ${after}`;
}

function list(values: Json[]): string {
  return values.map((value) => JSON.stringify(value)).join(", ");
}
