/** Adds variables, tests and unique ids to the Postman collection, to make it repeatable. */

import { type Collection, type Item, testEvent } from "./collection_parts.ts";
import { firstPayment } from "./first_payment.ts";

/** The parts of the OpenAPI document that are used here. */
export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components?: { examples?: Record<string, Example> };
}

interface Operation {
  operationId: string;
  requestBody?: {
    content: Record<string, { examples?: Record<string, Example | { $ref: string }> }>;
  };
}

interface Example {
  summary: string;
  value: unknown;
}

export function completeCollection(collection: Collection, document: Document): Collection {
  const byOperation = new Map<string, Item>();
  for (const folder of collection.item) {
    const items = folder.item.filter(hasEnd);
    // Deleting comes last, because the other requests of the folder use the same resource.
    const isDelete = ({ request }: Item) => request.method === "DELETE";
    const ordered = [...items.filter((item) => !isDelete(item)), ...items.filter(isDelete)];
    folder.item = ordered.flatMap((item) => {
      const operation = operationOf(item, document);
      const finished = completeItem(item);
      byOperation.set(operation.operationId, finished);
      return copyForEachExample(finished, bodyExamples(operation, document));
    });
  }
  const item = [firstPayment(byOperation), ...collection.item];
  // Variables with an underscore are set by the tests of earlier requests, or by the user.
  const variableNames = new Set(JSON.stringify(item).match(/(?<=\{\{)[a-z]+_\w+(?=\}\})/g));
  return {
    info: { ...collection.info, _postman_id: undefined },
    auth: { type: "bearer", bearer: [{ key: "token", value: "{{apiKey}}", type: "string" }] },
    variable: [
      { key: "baseUrl", value: "http://127.0.0.1:8000" },
      { key: "sandboxUrl", value: "http://127.0.0.1:8001" },
      { key: "apiKey", value: "" },
      ...[...variableNames].map((key) => ({ key, value: "" })),
    ],
    item,
  };
}

/** Newman would wait forever for the end of the event stream. */
function hasEnd({ request }: Item): boolean {
  return request.url.path.join("/") !== "events/stream/";
}

function operationOf({ name, request }: Item, document: Document): Operation {
  const path = `/${request.url.path.join("/")}`.replace(/:(\w+)/g, "{$1}");
  const operation = document.paths[path]?.[request.method.toLowerCase()];
  if (!operation) throw new Error(`${name}: the document has no ${request.method} ${path}`);
  return operation;
}

function completeItem(item: Item): Item {
  for (const variable of item.request.url.variable ?? []) {
    if (variable.key === "pk") variable.value = `{{${resourceId(item)}}}`;
    else if (variable.key === "prefix") variable.value = "{{key_prefix}}";
    else if (variable.key.endsWith("_id")) variable.value = `{{${variable.key}}}`;
  }
  // Error examples are dropped, because the description lists the errors. Request headers in
  // examples are dropped, because the request itself has them.
  const response = item.response.filter(({ code }) => code < 300).map((example) => ({
    ...example,
    id: undefined,
    originalRequest: { ...example.originalRequest, header: [] },
  }));
  return {
    ...item,
    id: undefined,
    request: withUniqueIds(item.request),
    response,
    event: [testEvent(statusTest(item))],
  };
}

/** Replaces unique ids with a variable that Postman fills with a new value. */
function withUniqueIds(request: Item["request"]): Item["request"] {
  if (!request.header.some(({ key }) => key === "Idempotency-Key")) return request;
  const header = request.header.map((each) =>
    each.key === "Idempotency-Key" ? { ...each, value: "{{$guid}}", disabled: false } : each
  );
  const raw = request.body?.raw?.replace(
    // The order id of an invoice has at most 36 characters, as many as the variable's value.
    /("(?:order_id|invoice_number)": ")[^"]*"/g,
    '$1{{$guid}}"',
  );
  return { ...request, header, body: raw === undefined ? request.body : { ...request.body, raw } };
}

/** Lists of resources that no request creates; the first one is used by later requests. */
const LISTED = ["refunds", "notifications", "jobs", "differences", "deliveries"];

/** A script that tests the status, and stores the id of a created resource for later requests. */
function statusTest(item: Item): string[] {
  const statuses = item.response.map(({ code }) => code).filter((code) => code < 300);
  const codes = [...new Set(statuses)];
  const exec = [
    `pm.test("status is ${codes.join(" or ")}", () => {`,
    `  pm.expect(pm.response.code).to.be.oneOf([${codes.join(", ")}]);`,
    "});",
  ];
  const resources = item.request.url.path.filter(Boolean).at(-1)!;
  if (item.request.method === "GET" && LISTED.includes(resources)) {
    exec.push(
      "if (pm.response.code === 200 && pm.response.json().length > 0) {",
      `  pm.collectionVariables.set("${idVariable(resources)}", pm.response.json()[0].id);`,
      "}",
    );
  }
  // A stored report is created with 202; the 202 of other requests is a job.
  const created = resources === "reconciliations" ? codes : codes.filter((code) => code === 201);
  if (item.request.method === "POST" && created.length > 0) {
    const [name, field] = resources === "keys"
      ? ["key_prefix", "prefix"]
      : [resourceId(item), "id"];
    exec.push(
      `if ([${created.join(", ")}].includes(pm.response.code)) {`,
      `  pm.collectionVariables.set("${name}", pm.response.json().${field});`,
      "}",
    );
  }
  return exec;
}

/** Name of the variable for the id of the path's resource, such as `payment_id`. */
function resourceId({ request: { url: { path } } }: Item): string {
  const resources = path[0] === "timelines" ? path[1]! : path[0]!;
  if (["charge", "reviews"].includes(resources)) return "payment_id";
  return idVariable(resources);
}

/** `webhook-endpoints` becomes `webhook_endpoint_id`. */
function idVariable(resources: string): string {
  return `${resources.replaceAll("-", "_").replace(/ies$/, "y").replace(/s$/, "")}_id`;
}

/** The examples of the operation's body, with references resolved. */
function bodyExamples({ requestBody }: Operation, { components }: Document): Example[] {
  const examples = requestBody?.content["application/json"]?.examples ?? {};
  return Object.values(examples).map((example) => {
    if (!("$ref" in example)) return example;
    return components!.examples![example.$ref.split("/").at(-1)!]!;
  });
}

/** The request itself, which has the first example, and a copy for each other example. */
function copyForEachExample(item: Item, [, ...others]: Example[]): Item[] {
  return [
    item,
    ...others.map(({ summary, value }) => {
      const body = { ...item.request.body, raw: JSON.stringify(value, null, 2) };
      return {
        ...item,
        name: `${item.name}: ${summary}`,
        request: withUniqueIds({ ...item.request, body }),
        response: [],
      };
    }),
  ];
}
