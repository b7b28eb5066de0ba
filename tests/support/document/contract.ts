/** Checks every response that a test gets against the document; undeclared parts fail. */

import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { closed } from "./closed_document.ts";
import type { Json } from "../gateway/sandbox.ts";

export interface CheckedRequest {
  method: string;
  url: string;
  /** The path at which the app is mounted. */
  basePath?: string;
  /** Whether the app has routes of an embedder, which are not in the document. */
  hasEmbedderRoutes?: boolean;
}

/** Headers of HTTP itself and for proxies, which the document need not declare. */
const UNDECLARED_HEADERS = [
  "cache-control",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "transfer-encoding",
  "vary",
  "x-accel-buffering",
  "x-content-type-options",
];

/** Pages for people, and the document itself: the document does not declare them. */
const PAGES = /^\/($|(openapi\.json|reference|guides|console|pay|demo)(\/|$))/;

/** The codes of responses for paths and methods that do not exist. */
const UNKNOWN_ROUTE_CODES: Record<number, string> = { 404: "not_found", 405: "method_not_allowed" };

const UNKNOWN_ROUTE_HEADERS = { "X-Request-Id": { $ref: "#/components/headers/RequestId" } };

/** A further header of 405 responses. */
const ALLOW = { Allow: { required: true, schema: { type: "string" } } };

/** The members of a schema that only refers to a schema of the components. */
const SHARED_SCHEMA = ["$ref", "unevaluatedProperties"];

const PROBLEM = "application/problem+json";

/** The document in the repository; another test checks that it is up to date. */
const document: Json = closed(
  JSON.parse(await Deno.readTextFile(new URL("../../../openapi/openapi.json", import.meta.url))),
);

/** Other tests check the document itself, and a process uses each schema only a few times. */
const COMPILE_QUICKLY = {
  meta: false,
  validateSchema: false,
  inlineRefs: false,
  code: { optimize: false },
};

const ajv = new Ajv2020({ strict: false, allErrors: true, ...COMPILE_QUICKLY });
// The types of this CommonJS package describe a module, but the import is a function.
(formats as unknown as (ajv: Ajv2020) => void)(ajv);
ajv.addSchema(document, "document");

const validators = new Map<string, ValidateFunction>();

const routes = Object.entries<Json>(document.paths)
  // Paths without parameters are matched first.
  .toSorted(([a], [b]) => a.split("{").length - b.split("{").length)
  .map(([path, methods]) => ({
    path,
    methods,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  }));

/** Checks the response and returns it, still readable. */
export async function checkResponse(
  request: CheckedRequest,
  response: Response,
): Promise<Response> {
  const { method, url, basePath = "", hasEmbedderRoutes = false } = request;
  const path = new URL(url, "http://localhost").pathname.replace(/\/?$/, "/");
  const ownPath = path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : null;
  if (ownPath !== null && PAGES.test(ownPath)) return response;
  const route = routes.find(({ pattern }) => ownPath !== null && pattern.test(ownPath));
  const verb = method === "HEAD" ? "get" : method.toLowerCase();
  const operation = route?.methods[verb];
  const what = `${response.status} of ${method} ${route?.path ?? path}`;
  if (!operation) {
    if (hasEmbedderRoutes && !(response.status in UNKNOWN_ROUTE_CODES)) return response;
    const headers = { ...UNKNOWN_ROUTE_HEADERS, ...response.status === 405 && ALLOW };
    checkHeaders(response, headers, what);
    if (method === "HEAD") return response;
    assert.equal(
      response.headers.get("content-type"),
      PROBLEM,
      `${what} is not a problem document`,
    );
    const [body, again] = await readJson(response, what);
    validate("/components/schemas/Problem", body, what);
    assert.equal(
      body.code,
      UNKNOWN_ROUTE_CODES[response.status],
      `${what} has the wrong code for a path or method that does not exist`,
    );
    return again;
  }
  const declared = operation.responses[response.status];
  assert.ok(declared, `${what}: the status is not in the document`);
  const pointer = `/paths/${escaped(route.path)}/${verb}/responses/${response.status}`;
  checkHeaders(response, declared.headers ?? {}, what);
  if (method === "HEAD") return response;
  const type = response.headers.get("content-type")?.split(";")[0] ?? null;
  const types = Object.keys(declared.content ?? {});
  assert.ok(
    type === null ? types.length === 0 : types.includes(type),
    `${what} has the content type ${type}`,
  );
  if (!type?.endsWith("json")) return response;
  const [body, again] = await readJson(response, what);
  const { schema } = declared.content[type];
  // Most responses share a schema, which is compiled once.
  const isShared = Object.keys(schema).every((name) => SHARED_SCHEMA.includes(name));
  const ownPointer = `${pointer}/content/${escaped(type)}/schema`;
  validate(isShared ? schema.$ref.slice(1) : ownPointer, body, what);
  if (type === PROBLEM) {
    const codes = Object.keys(declared.content[type].examples);
    assert.ok(codes.includes(body.code), `${what}: ${body.code} is not in the document`);
  }
  return again;
}

/** Checks an event, from a stream, a list or a webhook. */
export function checkEvent(event: unknown): void {
  validate("/components/schemas/Event", event, "The event");
}

function checkHeaders({ headers }: Response, declared: Json, what: string): void {
  const names = new Map(Object.keys(declared).map((name) => [name.toLowerCase(), name]));
  for (const name of headers.keys()) {
    const isKnown = UNDECLARED_HEADERS.includes(name) || names.has(name);
    assert.ok(isKnown, `${what}: the header ${name} is not in the document`);
  }
  for (const [name, declaredAs] of names) {
    const { required, schema } = resolved(declared[declaredAs]);
    const value = headers.get(name);
    assert.ok(value !== null || !required, `${what} lacks the header ${declaredAs}`);
    if (value === null) continue;
    const read = schema.type === "integer" && /^\d+$/.test(value) ? Number(value) : value;
    assert.ok(ajv.validate(schema, read), `${what}: ${declaredAs} is ${value}`);
  }
}

function validate(pointer: string, value: unknown, what: string): void {
  let validator = validators.get(pointer);
  if (!validator) {
    const schema = { $ref: `document#${pointer}`, unevaluatedProperties: false };
    validators.set(pointer, validator = ajv.compile(schema));
  }
  if (validator(value)) return;
  const errors = validator.errors!.map(({ instancePath, message, params }) =>
    `${instancePath || "/"} ${message} ${JSON.stringify(params)}`
  );
  assert.fail(
    [`${what} does not match the document:`, ...errors, JSON.stringify(value)].join("\n"),
  );
}

async function readJson(response: Response, what: string): Promise<[Json, Response]> {
  const text = await response.text();
  try {
    return [JSON.parse(text), new Response(text, response)];
  } catch {
    assert.fail(`${what} is not JSON: ${text}`);
  }
}

function resolved({ $ref, ...value }: Json): Json {
  if (!$ref) return value;
  return $ref.slice(2).split("/").reduce((part: Json, name: string) => part[name], document);
}

/** Escapes a name for a JSON pointer in a URL. */
function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
}
