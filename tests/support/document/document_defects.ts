/** Finds missing descriptions and missing or invalid examples in the document. */

import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { ERROR_CODES } from "../../../core/errors.ts";
import { closed } from "./closed_document.ts";
import type { Json } from "../gateway/sandbox.ts";

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Operations that need no credential, resource or input, so they have no errors. */
const WITHOUT_ERRORS = ["getLiveness"];

/** One line per defect. */
export function findDocumentDefects(document: Json): string[] {
  const checker = createChecker(document);
  const { paths, webhooks, components } = document;
  return [
    ...operationsIn(paths).flatMap((
      each,
    ) => [...defectsOfDescription(each), ...defectsOfErrorCodes(each)]),
    ...operationsIn(webhooks).flatMap(defectsOfDescription),
    ...operationsIn({ ...paths, ...webhooks }).flatMap((each) => [
      ...defectsOfParameters(each, checker),
      ...defectsOfBodies(each, checker),
      ...defectsOfHeaders(each, checker),
    ]),
    ...Object.entries(components.schemas).flatMap(([name, schema]) =>
      defectsOfSchema(schema, name)
    ),
    ...defectsOfProblem(components.schemas.Problem),
  ];
}

interface Operation {
  path: string;
  method: string;
  operation: Json;
}

function operationsIn(paths: Json): Operation[] {
  return Object.entries<Json>(paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method]).map((method) => ({
      path,
      method,
      operation: methods[method],
    }))
  );
}

function defectsOfDescription(
  { operation: { operationId, summary, description } }: Operation,
): string[] {
  const sentences = description?.match(/[.:;](\s|$)/g)?.length ?? 0;
  return [
    ...summary && !summary.endsWith("?") ? [] : [`${operationId} has no summary`],
    ...sentences >= 2 ? [] : [`${operationId} has fewer than two sentences of description`],
  ];
}

/** A description must mention an error code, and only codes that the operation declares. */
function defectsOfErrorCodes(
  { operation: { operationId, description, responses } }: Operation,
): string[] {
  const own = Object.entries<Json>(responses).flatMap(([status, { content }]) =>
    Number(status) < 400 ? [] : Object.keys(content?.["application/problem+json"].examples ?? {})
  );
  const mentioned = [...(description ?? "").matchAll(/`(\w+)`/g)].map(([, word]) => word)
    .filter((word) => word in ERROR_CODES);
  return [
    ...mentioned.length > 0 || WITHOUT_ERRORS.includes(operationId)
      ? []
      : [`${operationId} mentions no error code`],
    ...mentioned.filter((code) => !own.includes(code))
      .map((code) => `${operationId} mentions ${code}, which it does not declare`),
    ...own.filter((code) => !(code in ERROR_CODES))
      .map((code) => `${operationId} declares ${code}, which is not in ERROR_CODES`),
  ];
}

function defectsOfParameters({ operation }: Operation, checker: Checker): string[] {
  return (operation.parameters ?? []).map(checker.resolved).flatMap((parameter: Json) => {
    const { name, description, schema } = parameter;
    const what = `${operation.operationId}: ${name}`;
    const values = examplesOf(parameter, checker);
    return [
      ...description ? [] : [`${what} has no description`],
      ...values.length > 0 ? [] : [`${what} has no example`],
      ...values.flatMap((value) => checker.validationErrors(schema, value, what)),
    ];
  });
}

function defectsOfHeaders({ operation }: Operation, checker: Checker): string[] {
  return Object.entries<Json>(operation.responses).flatMap(([status, answer]) =>
    Object.entries<Json>(checker.resolved(answer).headers ?? {}).flatMap(([name, header]) => {
      const what = `${operation.operationId}: ${name} of ${status}`;
      const { description, schema, examples, example = firstValue(examples) } = checker
        .resolved(header);
      return [
        ...description ? [] : [`${what} has no description`],
        ...checker.validationErrors(schema, example, what),
      ];
    })
  );
}

function defectsOfBodies({ path, method, operation }: Operation, checker: Checker): string[] {
  const here = `/paths/${escaped(path)}/${method}`;
  const answers = Object.entries<Json>(operation.responses).map(([status, answer]) => ({
    name: status,
    pointer: `${here}/responses/${status}`,
    content: answer.content,
  }));
  const sent = { pointer: `${here}/requestBody`, content: operation.requestBody?.content };
  return [{ name: "its request", ...sent }, ...answers].flatMap(({ name, pointer, content }) =>
    Object.entries<Json>(content ?? {}).flatMap(([type, media]) => {
      const what = `${operation.operationId}: ${name}`;
      const schema = { $ref: `document#${pointer}/content/${escaped(type)}/schema` };
      const examples = Object.entries<Json>(media.examples ?? {});
      return [
        ...examples.length > 0 ? [] : [`${what} has no examples`],
        ...examples.flatMap(([name, example]) => {
          const { summary, value } = checker.resolved(example);
          return [
            ...summary ? [] : [`${what}: ${name} has no summary`],
            ...checker.validationErrors(schema, value, `${what}: ${name}`),
            ...type === "application/problem+json" && value.code !== name
              ? [`${what}: ${name} is an example of ${value.code}`]
              : [],
          ];
        }),
      ];
    })
  );
}

/** Checks a schema and its parts, but not referenced components. */
function defectsOfSchema(schema: Json, what: string): string[] {
  const { $ref, description } = schema;
  return [
    ...description || $ref ? [] : [`${what} has no description`],
    ...defectsOfMembers(schema, what),
  ];
}

/** Parts and alternatives of a schema need no description; their members do. */
function defectsOfMembers(schema: Json, what: string): string[] {
  const { properties = {}, items, additionalProperties, allOf, oneOf, anyOf } = schema;
  const parts = [items, additionalProperties, allOf, oneOf, anyOf].flat();
  return [
    ...Object.entries(properties).flatMap(([name, each]) =>
      defectsOfSchema(each, `${what}.${name}`)
    ),
    ...parts.filter(Boolean).flatMap((part) => defectsOfMembers(part, what)),
  ];
}

function defectsOfProblem({ properties }: Json): string[] {
  const missing = Object.keys(ERROR_CODES).filter((code) => !properties.code.enum.includes(code));
  return missing.map((code) => `${code} is not in the enum of Problem.code`);
}

function examplesOf({ example, examples, schema }: Json, checker: Checker): Json[] {
  const named = Object.values<Json>(examples ?? {}).map((each) => checker.resolved(each).value);
  return [example, ...named, schema?.example].filter((value) => value !== undefined);
}

interface Checker {
  resolved(value: Json): Json;
  validationErrors(schema: Json, value: Json, what: string): string[];
}

function createChecker(document: Json): Checker {
  const { paths, webhooks } = document;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  // The types of this CommonJS package describe a module, but the import is a function.
  (formats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addSchema(closed({ ...document, paths: { ...paths, ...webhooks } }), "document");
  const validators = new Map<string, ValidateFunction>();
  return {
    resolved: ({ $ref, ...value }) =>
      $ref
        ? $ref.slice(2).split("/").reduce((part: Json, name: string) => part[name], document)
        : value,
    validationErrors(schema, value, what) {
      const text = JSON.stringify(schema).replaceAll('"#/', '"document#/');
      let validate = validators.get(text);
      if (!validate) validators.set(text, validate = ajv.compile(JSON.parse(text)));
      if (validate(value)) return [];
      return validate.errors!.map(({ instancePath, message, params }) =>
        `${what}: ${instancePath} ${message} ${JSON.stringify(params)}`
      );
    },
  };
}

/** Escapes a name for a JSON pointer in a URL. */
function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
}

function firstValue(examples: Json = {}): Json {
  return Object.values<Json>(examples)[0]?.value;
}
