/** What a new version of the document takes away from those who were built on a released one. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Json } from "../gateway/sandbox.ts";
import { PROJECT } from "../project.ts";
import { resolved } from "./flat_schema.ts";
import { schemaChanges, type Sender } from "./schema_changes.ts";

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/** All other webhooks are sent by the service. */
const SENT_TO_US = "gateway_notification";

/** The document of the version that was released last; `deno task release-document` keeps it. */
export async function lastReleased(): Promise<Json> {
  const folder = join(PROJECT, "openapi/released");
  const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
  const [newest] = names.filter((name) => /^\d+\.\d+\.\d+\.json$/.test(name))
    .toSorted((a, b) => compareVersions(b, a));
  assert.ok(newest, `there is none in ${folder}`);
  return JSON.parse(await Deno.readTextFile(join(folder, newest)));
}

/** Negative where the first is the older one. */
function compareVersions(a: string, b: string): number {
  const [before, after] = [a, b].map((version) => version.split(".").slice(0, 3).map(Number));
  const differences = before!.map((number, index) => number - after![index]!);
  return differences.find((difference) => difference !== 0) ?? 0;
}

/** Whoever was built on a version can use all later ones that have the same first number. */
export function assertCompatible(released: Json, current: Json): void {
  const major = ({ info }: Json) => Number(info.version.split(".")[0]);
  const changes = breakingChanges(released, current);
  assert.ok(
    changes.length === 0 || major(current) > major(released),
    `These break what was built on ${released.info.version}; undo them, or raise the first number ` +
      `of the version, which is ${current.info.version}:\n${changes.join("\n")}`,
  );
  assert.ok(
    compareVersions(current.info.version, released.info.version) >= 0,
    `The version is ${current.info.version}, and ${released.info.version} was released already`,
  );
}

/** One line each: `POST /charge/ 201 Payment.va_number: removed`. */
export function breakingChanges(released: Json, current: Json): string[] {
  const lines: string[] = [];
  const report = (place: string, what: string) => lines.push(`${place}: ${what}`);
  const schemas: { place: string; key: string; text: string; depth: number }[] = [];

  [released, current].forEach(assertNothingUnseen);
  for (const { url } of released.servers) {
    if (!current.servers.some((each: Json) => each.url === url)) report(`server ${url}`, "removed");
  }
  // Clients that are made from the document name their types after these.
  for (const name of Object.keys(released.components.schemas)) {
    if (!current.components.schemas[name]) report(`component ${name}`, "removed");
  }
  for (const [name, was] of Object.entries<Json>(released.components.securitySchemes)) {
    const is = current.components.securitySchemes[name];
    const differs = ["type", "scheme", "in", "name"].some((key) => was[key] !== is?.[key]);
    if (differs) report(`security scheme ${name}`, is ? "another" : "removed");
  }
  const toUs = { request: "caller", answer: "service" } as const;
  const fromUs = { request: "service", answer: "caller" } as const;
  const operationAt = (method: string, path: string) => `${method.toUpperCase()} ${path}`;
  compareAll(released.paths, current.paths, operationAt, toUs);
  for (const [name, webhook] of Object.entries<Json>(released.webhooks ?? {})) {
    const senders = name === SENT_TO_US ? toUs : fromUs;
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

  /** Who got in with something gets in with it, or with less. */
  function compareSecurity(was: Json[], is: Json[], place: string): void {
    const ways = (all: Json[]) => all.length === 0 ? [[]] : all.map((way) => Object.keys(way));
    for (const way of ways(was)) {
      if (!ways(is).some((now) => now.every((scheme) => way.includes(scheme)))) {
        report(place, `${way.join(" and ") || "no credential"} is not enough now`);
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
      const isAsked = required && sender === "caller" && !before.has(name);
      if (isAsked) report(`${place} ${name}`, "new and required");
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

  /** A parameter, or a header of an answer. */
  function compareNamed(was: Json, is: Json, place: string, sender: Sender): void {
    if (sender === "caller" && is.required && !was.required) report(place, "required now");
    if (sender === "service" && was.required && !is.required) {
      report(place, "no longer always there");
    }
    const [before, after] = [spelling(was), spelling(is)];
    if (before !== after) report(place, `was written as ${before}, is as ${after}`);
    compareSchemas(was.schema, is.schema, place, sender);
  }

  function compareContent(was: Json, is: Json, place: string, sender: Sender): void {
    for (const [type, media] of Object.entries<Json>(was)) {
      const now = is[type];
      if (!now) {
        report(`${place} ${type}`, "removed");
        continue;
      }
      compareSchemas(media.schema, now.schema, place, sender);
      // Which errors an operation has is told by the examples of its answers.
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

  /** What changed in a component is told once, where one meets it first. */
  function schemaLines(): string[] {
    return [...Map.groupBy(schemas, ({ key }) => key).values()].map((same) => {
      const [first] = same.toSorted((a, b) => a.depth - b.depth);
      const others = new Set(same.map(({ place }) => place)).size - 1;
      return `${first!.place}${first!.text}${others ? `, and in ${others} more` : ""}`;
    });
  }
}

/** How lists and objects are written into a parameter or a header, with what goes without saying. */
function spelling({ in: place, style, explode }: Json): string {
  const said = style ?? (place === "query" || place === "cookie" ? "form" : "simple");
  return explode ?? said === "form" ? `${said}, exploded` : said;
}

/** What is said of a path as a whole is not compared; every operation has to say it by itself. */
function assertNothingUnseen({ paths, webhooks = {} }: Json): void {
  for (const [path, { parameters, $ref }] of Object.entries<Json>({ ...paths, ...webhooks })) {
    assert.ok(!parameters && !$ref, `${path}: say the parameters at its operations`);
  }
}
