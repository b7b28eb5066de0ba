/** The operations of the OpenAPI document: what requests are generated from. */

import type { Json } from "../../tests/support/gateway/sandbox.ts";

/** A JSON schema; a reference is replaced with `resolve`. */
export type Schema = Json;

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  schema: Schema;
  required: boolean;
}

export interface Operation {
  id: string;
  method: string;
  /** With parameters in braces, as in the document. */
  path: string;
  parameters: Parameter[];
  /** Null: the operation takes no body. */
  body: { type: string; schema: Schema; examples: Json[] } | null;
  /** Whether the operation needs no credential. */
  isPublic: boolean;
  /** Whether users get `forbidden`, and whether viewers do, as the description says. */
  forStaff: boolean;
  forStaffAndViewers: boolean;
}

const document: Json = JSON.parse(
  await Deno.readTextFile(new URL("../../openapi/openapi.json", import.meta.url)),
);

export const OPERATIONS: Operation[] = Object.entries<Json>(document.paths).flatMap(
  ([path, methods]) =>
    Object.entries<Json>(methods).map(([method, described]) => ({
      id: described.operationId,
      method: method.toUpperCase(),
      path,
      parameters: (described.parameters ?? []).map(resolve),
      body: readBody(described.requestBody),
      isPublic: described.security?.length === 0,
      forStaff: /\bStaff only\b/.test(described.description),
      forStaffAndViewers: /\bStaff and viewers only\b/.test(described.description),
    })),
);

/** The schema, example or parameter to which a reference leads. */
export function resolve(value: Json): Json {
  if (typeof value?.$ref !== "string") return value;
  const names = value.$ref.slice(2).split("/");
  return resolve(names.reduce((part: Json, name: string) => part[name], document));
}

function readBody(described: Json): Operation["body"] {
  if (!described) return null;
  const [[type, { schema, examples }]] = Object.entries<Json>(described.content) as [
    [string, Json],
  ];
  return {
    type,
    schema,
    examples: Object.values<Json>(examples ?? {}).map((each) => resolve(each).value),
  };
}
