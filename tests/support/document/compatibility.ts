/** Finds breaking changes between a released version of the document and a new one. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Json } from "../gateway/sandbox.ts";
import { PROJECT } from "../project.ts";
import { resolved } from "./flat_schema.ts";
import { schemaChanges, type Sender } from "./schema_changes.ts";

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/** The only webhook that the service receives; it sends all others. */
const RECEIVED_WEBHOOK = "gateway_notification";

/** The last released document; `deno task release-document` stores it. */
export async function lastReleased(): Promise<Json> {
  const folder = join(PROJECT, "openapi/released");
  const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
  const [newest] = names.filter((name) => /^\d+\.\d+\.\d+\.json$/.test(name))
    .toSorted((a, b) => compareVersions(b, a));
  assert.ok(newest, `no released document in ${folder}`);
  return JSON.parse(await Deno.readTextFile(join(folder, newest)));
}

/** Negative if the first version is older. */
function compareVersions(a: string, b: string): number {
  const [before, after] = [a, b].map((version) => version.split(".").slice(0, 3).map(Number));
  const differences = before!.map((number, index) => number - after![index]!);
  return differences.find((difference) => difference !== 0) ?? 0;
}

/** A version must be compatible with earlier versions that have the same major number. */
export function assertCompatible(released: Json, current: Json): void {
  const major = ({ info }: Json) => Number(info.version.split(".")[0]);
  const changes = breakingChanges(released, current);
  assert.ok(
    changes.length === 0 || major(current) > major(released),
    `These changes break clients of ${released.info.version}; undo them, or raise the major number ` +
      `of the version ${current.info.version}:\n${changes.join("\n")}`,
  );
  assert.ok(
    compareVersions(current.info.version, released.info.version) >= 0,
    `The version ${current.info.version} is lower than the released version ${released.info.version}`,
  );
}

/** One line each: `POST /charge/ 201 Payment.va_number: removed`. */
export function breakingChanges(released: Json, current: Json): string[] {
  const lines: string[] = [];
  const report = (place: string, what: string) => lines.push(`${place}: ${what}`);
  const schemas: { place: string; key: string; text: string; depth: number }[] = [];

  [released, current].forEach(assertNoPathItemParameters);
  for (const { url } of released.servers) {
    if (!current.servers.some((each: Json) => each.url === url)) report(`server ${url}`, "removed");
  }
  // Generated clients name their types after components.
  for (const name of Object.keys(released.components.schemas)) {
    if (!current.components.schemas[name]) report(`component ${name}`, "removed");
  }
  for (const [name, was] of Object.entries<Json>(released.components.securitySchemes)) {
    const is = current.components.securitySchemes[name];
    const differs = ["type", "scheme", "in", "name"].some((key) => was[key] !== is?.[key]);
    if (differs) report(`security scheme ${name}`, is ? "changed" : "removed");
  }
  const receivedByService = { request: "caller", answer: "service" } as const;
  const sentByService = { request: "service", answer: "caller" } as const;
  const operationAt = (method: string, path: string) => `${method.toUpperCase()} ${path}`;
  compareAll(released.paths, current.paths, operationAt, receivedByService);
  for (const [name, webhook] of Object.entries<Json>(released.webhooks ?? {})) {
    const senders = name === RECEIVED_WEBHOOK ? receivedByService : sentByService;
    compareAll({ [name]: webhook }, current.webhooks ?? {}, () => `webhook ${name}`, senders);
  }
  return [...lines, ...schemaLines()];

  function compareAll(
    was: Json,
    is: Json,
    place: (method: string, path: string) => string,
    senders: { request: Sender; answer: Sender },
  ): void {
    for (const [path, methods] of Object.entries<Json>(was)) {
      for (const method of METHODS.filter((method) => methods[method])) {
        const [before, after] = [methods[method], is[path]?.[method]];
        if (after) compareOperations(before, after, place(method, path), senders);
        else report(place(method, path), "removed");
      }
    }
  }

  function compareOperations(
    was: Json,
    is: Json,
    place: string,
    senders: { request: Sender; answer: Sender },
  ): void {
    if (was.operationId !== is.operationId) {
      report(place, `operationId was ${was.operationId}, is ${is.operationId}`);
    }
    compareSecurity(was.security ?? released.security, is.security ?? current.security, place);
    compareParameters(was, is, place, senders.request);
    const body = {
      was: resolved(released, was.requestBody),
      is: resolved(current, is.requestBody),
    };
    if (body.is?.required && !body.was?.required && senders.request === "caller") {
      report(`${place} request`, body.was ? "required now" : "new and required");
    }
    const content = [body.was, body.is].map((each) => each?.content ?? {});
    compareContent(content[0], content[1], `${place} request`, senders.request);
    for (const [status, response] of Object.entries<Json>(was.responses)) {
      const [before, after] = [
        resolved(released, response),
        resolved(current, is.responses[status]),
      ];
      if (after) compareResponses(before, after, `${place} ${status}`, senders.answer);
      else report(`${place} ${status}`, "removed");
    }
  }

  /** Credentials that were enough must still be enough. */
  function compareSecurity(was: Json[], is: Json[], place: string): void {
    const alternatives = (all: Json[]) =>
      all.length === 0 ? [[]] : all.map((schemes) => Object.keys(schemes));
    for (const before of alternatives(was)) {
      if (!alternatives(is).some((now) => now.every((scheme) => before.includes(scheme)))) {
        report(place, `${before.join(" and ") || "sending no credentials"} is not enough now`);
      }
    }
  }

  function compareParameters(was: Json, is: Json, place: string, sender: Sender): void {
    const byName = (document: Json, { parameters = [] }: Json) =>
      new Map<string, Json>(parameters.map((each: Json) => {
        const parameter = resolved(document, each);
        const name = parameter.in === "header" ? parameter.name.toLowerCase() : parameter.name;
        return [`${parameter.in} ${name}`, parameter];
      }));
    const [before, after] = [byName(released, was), byName(current, is)];
    for (const [name, parameter] of before) {
      const now = after.get(name);
      if (now) compareNamed(parameter, now, `${place} ${name}`, sender);
      else report(`${place} ${name}`, "removed");
    }
    for (const [name, { required }] of after) {
      const isNewRequirement = required && sender === "caller" && !before.has(name);
      if (isNewRequirement) report(`${place} ${name}`, "new and required");
    }
  }

  function compareResponses(was: Json, is: Json, place: string, sender: Sender): void {
    compareContent(was.content ?? {}, is.content ?? {}, place, sender);
    for (const [name, header] of Object.entries<Json>(was.headers ?? {})) {
      const now = is.headers?.[name];
      const at = `${place} header ${name.toLowerCase()}`;
      if (!now) report(at, "removed");
      else compareNamed(resolved(released, header), resolved(current, now), at, sender);
    }
  }

  /** A parameter, or a header of a response. */
  function compareNamed(was: Json, is: Json, place: string, sender: Sender): void {
    if (sender === "caller" && is.required && !was.required) report(place, "required now");
    if (sender === "service" && was.required && !is.required) {
      report(place, "no longer always present");
    }
    const [before, after] = [serializationOf(was), serializationOf(is)];
    if (before !== after) report(place, `serialization was ${before}, is ${after}`);
    compareSchemas(
      was.schema,
      takesSeveralNow(was, is) ? is.schema.items : is.schema,
      place,
      sender,
    );
  }

  function compareContent(was: Json, is: Json, place: string, sender: Sender): void {
    for (const [type, media] of Object.entries<Json>(was)) {
      const now = is[type];
      if (!now) {
        report(`${place} ${type}`, "removed");
        continue;
      }
      compareSchemas(media.schema, now.schema, place, sender);
      // The error codes of an operation are the examples of its responses.
      if (type !== "application/problem+json") continue;
      for (const code of Object.keys(media.examples ?? {})) {
        if (!now.examples?.[code]) report(`${place} ${code}`, "removed");
      }
    }
  }

  function compareSchemas(was: Json = {}, is: Json = {}, place: string, sender: Sender): void {
    for (const { subject, what, depth } of schemaChanges([released, was], [current, is], sender)) {
      const isInline = /^body\b/.test(subject);
      const where = isInline ? subject.replace(/^body\.?/, "") : subject;
      const text = `${where && ` ${where}`}: ${what}`;
      schemas.push({ place, text, depth, key: isInline ? place + text : sender + text });
    }
  }

  /** A change in a component is reported once, at the place where it is nested least deeply. */
  function schemaLines(): string[] {
    return [...Map.groupBy(schemas, ({ key }) => key).values()].map((same) => {
      const [first] = same.toSorted((a, b) => a.depth - b.depth);
      const others = new Set(same.map(({ place }) => place)).size - 1;
      return `${first!.place}${first!.text}${others ? `, and in ${others} more` : ""}`;
    });
  }
}

/**
 * Whether a query parameter with one value can be repeated now. Requests with one value do not
 * change, because each value is a parameter of its own.
 */
function takesSeveralNow(was: Json, is: Json): boolean {
  return was.in === "query" && was.schema?.type !== "array" && is.schema?.type === "array" &&
    serializationOf(is) === "form, exploded" && (is.schema.minItems ?? 0) <= 1;
}

/** The style of a parameter or header, with defaults filled in. */
function serializationOf({ in: place, style, explode }: Json): string {
  const actualStyle = style ?? (place === "query" || place === "cookie" ? "form" : "simple");
  return explode ?? actualStyle === "form" ? `${actualStyle}, exploded` : actualStyle;
}

/** Parameters of a whole path are not compared, so operations must declare them. */
function assertNoPathItemParameters({ paths, webhooks = {} }: Json): void {
  for (const [path, { parameters, $ref }] of Object.entries<Json>({ ...paths, ...webhooks })) {
    assert.ok(!parameters && !$ref, `${path}: declare the parameters at its operations`);
  }
}
