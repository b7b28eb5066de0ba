/** Holds every answer that a test gets against the document: what is not declared there fails. */

import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { Document } from "../../openapi/document.ts";
import type { Json } from "./sandbox.ts";

/** The answer again, once it was found to be as the document says. */
export type CheckAnswer = (method: string, url: string, answer: Response) => Promise<Response>;

/** What every server may add to every answer, and no client of this API has to know. */
const OF_HTTP = [
  "cache-control",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "vary",
  "x-accel-buffering",
  "x-content-type-options",
];

/** Pages for browsers, which no document describes. */
const PAGES = /^\/(openapi\.json|reference)(\/|$)/;

/** Of what is asked for where nothing is. */
const NOWHERE = { 404: "not_found", 405: "method_not_allowed" } as Record<number, string>;

export function createContract(document: Document): CheckAnswer {
  const described: Json = closed(JSON.parse(JSON.stringify(document)));
  const basePath: string = described.servers[0].url.replace(/\/$/, "");
  const routes = Object.entries<Json>(described.paths).map(([path, methods]) => ({
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
    path,
    methods,
  })).toSorted((a, b) => a.path.split("{").length - b.path.split("{").length);

  const ajv = new Ajv2020({ strict: false, allErrors: true });
  // A function in CommonJS, of which the types know only the module.
  (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addSchema(described, "document");
  const validators = new Map<string, ValidateFunction>();

  function validate(pointer: string, value: unknown, what: string): void {
    let validator = validators.get(pointer);
    if (!validator) {
      validators.set(pointer, validator = ajv.compile({ $ref: `document#${pointer}` }));
    }
    if (validator(value)) return;
    const errors = validator.errors!.map(({ instancePath, message, params }) =>
      `${instancePath || "/"} ${message} ${JSON.stringify(params)}`
    );
    assert.fail(
      `${what} is not as the document says:\n${errors.join("\n")}\n${JSON.stringify(value)}`,
    );
  }

  function checkHeaders(answer: Response, declared: Json, pointer: string, what: string): void {
    const names = new Map(Object.keys(declared).map((name) => [name.toLowerCase(), name]));
    for (const [name, value] of answer.headers) {
      if (OF_HTTP.includes(name)) continue;
      const declaredAs = names.get(name);
      assert.ok(declaredAs, `${what}: the header ${name} is not in the document`);
      const header = declared[declaredAs];
      const at = header.$ref?.slice(1) ?? `${pointer}/headers/${escaped(declaredAs)}`;
      const { type } = resolved(described, header).schema;
      validate(`${at}/schema`, type === "integer" ? Number(value) : value, `${what}: ${name}`);
    }
    for (const [name, declaredAs] of names) {
      const { required } = resolved(described, declared[declaredAs]);
      assert.ok(!required || answer.headers.has(name), `${what} lacks the header ${declaredAs}`);
    }
  }

  return async function check(method, url, answer) {
    const { pathname } = new URL(url, "http://localhost");
    const path = pathname.replace(/\/?$/, "/").slice(basePath.length);
    if (!pathname.startsWith(basePath) || PAGES.test(path)) return answer;
    const route = routes.find(({ pattern }) => pattern.test(path));
    const asked = method === "HEAD" ? "get" : method.toLowerCase();
    const operation = route?.methods[asked];
    const what = `${answer.status} of ${method} ${route?.path ?? path}`;
    if (!operation) {
      return await checkBody(answer, what, (body) => {
        validate("/components/schemas/Problem", body, what);
        assert.equal((body as Json).code, NOWHERE[answer.status], what);
      });
    }
    const declared = operation.responses[answer.status];
    assert.ok(declared, `${what}: the status is not in the document`);
    const pointer = `/paths/${escaped(route.path)}/${asked}/responses/${answer.status}`;
    checkHeaders(answer, declared.headers ?? {}, pointer, what);
    if (method === "HEAD") return answer;
    const type = answer.headers.get("content-type")?.split(";")[0] ?? null;
    const types = Object.keys(declared.content ?? {});
    assert.ok(type === null ? types.length === 0 : types.includes(type), `${what} is ${type}`);
    if (!type?.endsWith("json")) return answer;
    return await checkBody(answer, what, (body) => {
      validate(`${pointer}/content/${escaped(type)}/schema`, body, what);
      if (type !== "application/problem+json") return;
      const { code } = body as Json;
      assert.ok(code in declared.content[type].examples, `${what}: ${code} is not declared`);
    });
  };
}

async function checkBody(
  answer: Response,
  what: string,
  check: (body: unknown) => void,
): Promise<Response> {
  const text = await answer.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    assert.fail(`${what} is no JSON: ${text}`);
  }
  check(body);
  return new Response(text, answer);
}

function resolved(document: Json, value: Json): Json {
  if (!value.$ref) return value;
  return value.$ref.slice(2).split("/").reduce((part: Json, name: string) => part[name], document);
}

function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
}

/**
 * The document with every schema that does not say otherwise taken to name all there is: clients have
 * to expect new members, and tests have to expect that they are declared.
 */
function closed(document: Json): Json {
  const close = (schema: Json, isPart: boolean): Json => {
    if (typeof schema !== "object" || schema === null) return schema;
    const result = { ...schema };
    for (const name of ["properties", "patternProperties"]) {
      if (!schema[name]) continue;
      result[name] = Object.fromEntries(
        Object.entries(schema[name]).map(([name, member]) => [name, close(member, false)]),
      );
    }
    if (schema.items) result.items = close(schema.items, false);
    for (const name of ["anyOf", "oneOf", "allOf"]) {
      if (schema[name]) result[name] = schema[name].map((each: Json) => close(each, true));
    }
    const isObject = schema.properties || schema.allOf || schema.oneOf || schema.anyOf ||
      schema.$ref;
    if (!isPart && isObject && schema.additionalProperties === undefined) {
      result.unevaluatedProperties = false;
    }
    return result;
  };
  const schemas = document.components.schemas;
  for (const name of Object.keys(schemas)) schemas[name] = close(schemas[name], true);
  const walk = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries<Json>(value).map(([name, member]) => [
        name,
        name === "schema" ? close(member, false) : walk(member),
      ]),
    );
  };
  return { ...document, paths: walk(document.paths) };
}
