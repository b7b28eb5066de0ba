/** Makes the converted collection one that can be used as it is: it runs, and runs again. */

/** As much of a collection (v2.1) as is looked at. */
export interface Collection {
  info: Record<string, unknown>;
  item: Folder[];
  auth?: unknown;
  variable?: { key: string; value: string }[];
}

interface Folder {
  name: string;
  description?: string;
  item: Item[];
}

interface Item {
  id?: string;
  name: string;
  request: {
    method: string;
    url: { path: string[]; variable?: { key: string; value: string }[] };
    header: { key: string; value: string; disabled?: boolean }[];
    body?: { raw?: string };
  };
  response: { id?: string; code: number; originalRequest: { header?: unknown[] } }[];
  event?: { listen: "test"; script: { type: string; exec: string[] } }[];
}

/** As much of the document. */
export interface Document {
  paths: Record<string, Record<string, Operation>>;
}

interface Operation {
  operationId: string;
  requestBody?: {
    content: Record<string, { examples?: Record<string, { summary?: string; value: unknown }> }>;
  };
}

const FIRST_PAYMENT = ["createCharge", "getPayment", "listPayments", "cancelPayment"];

export function finish(collection: Collection, document: Document): Collection {
  const byOperation = new Map<string, Item>();
  for (const folder of collection.item) {
    folder.item = folder.item.flatMap((item) => {
      const operation = operationOf(item, document);
      const finished = finishItem(item);
      byOperation.set(operation.operationId, finished);
      return oneForEachExample(finished, operation);
    });
  }
  const variables = [...new Set(JSON.stringify(collection.item).match(/(?<=\{\{)\w+_id(?=\}\})/g))];
  return {
    info: { ...collection.info, _postman_id: undefined },
    auth: { type: "bearer", bearer: [{ key: "token", value: "{{apiKey}}", type: "string" }] },
    variable: [
      { key: "baseUrl", value: "http://127.0.0.1:8000" },
      { key: "apiKey", value: "" },
      ...variables.map((key) => ({ key, value: "" })),
    ],
    item: [
      {
        name: "A first payment",
        description:
          "Set the variable apiKey, and run this folder: a charge is made, read, found " +
          "in the list, and cancelled.",
        item: FIRST_PAYMENT.map((operationId) => byOperation.get(operationId)!),
      },
      ...collection.item,
    ],
  };
}

function operationOf({ name, request }: Item, document: Document): Operation {
  const path = `/${request.url.path.join("/")}`.replace(/:(\w+)/g, "{$1}");
  const operation = document.paths[path]?.[request.method.toLowerCase()];
  if (!operation) throw new Error(`${name}: the document has no ${request.method} ${path}`);
  return operation;
}

function finishItem(item: Item): Item {
  const { request } = item;
  for (const variable of request.url.variable ?? []) {
    if (["pk", "id"].includes(variable.key)) variable.value = `{{${resourceId(item)}}}`;
    else if (variable.key.endsWith("_id")) variable.value = `{{${variable.key}}}`;
  }
  for (const header of request.header) {
    if (header.key !== "Idempotency-Key") continue;
    // A new one each time it is sent: Postman makes it up.
    header.value = "{{$guid}}";
    header.disabled = false;
  }
  if (request.body?.raw) request.body.raw = withNewNames(request.body.raw);
  // What can go wrong is in the description; a copy of the request in each example is too much.
  const response = item.response.filter(({ code }) => code < 300).map((answer) => ({
    ...answer,
    id: undefined,
    originalRequest: { ...answer.originalRequest, header: [] },
  }));
  return { ...item, id: undefined, response, event: [{ listen: "test", script: check(item) }] };
}

/** Ids that can be taken once are new each time, too. */
function withNewNames(body: string): string {
  return body.replace(/("(?:order_id|invoice_number)": ")[^"]*"/g, '$1pm-{{$guid}}"');
}

/** Whether the answer is a good one; what was made is remembered for the requests after it. */
function check(item: Item): { type: string; exec: string[] } {
  const codes = item.response.map(({ code }) => code).filter((code) => code < 300);
  const exec = [
    `pm.test("answered with ${codes.join(" or ")}", () => {`,
    `  pm.expect(pm.response.code).to.be.oneOf([${codes.join(", ")}]);`,
    "});",
  ];
  if (item.request.method === "POST" && codes.includes(201)) {
    exec.push(
      "if (pm.response.code === 201) {",
      `  pm.collectionVariables.set("${resourceId(item)}", pm.response.json().id);`,
      "}",
    );
  }
  return { type: "text/javascript", exec };
}

/** By what name the collection keeps the id of what a path is about: `payment_id`. */
function resourceId({ request }: Item): string {
  const resource = request.url.path[0]!.replaceAll("-", "_").replace(/s$/, "");
  return `${resource === "charge" ? "payment" : resource}_id`;
}

/** The request, and one more for each further example of its body. */
function oneForEachExample(item: Item, { requestBody }: Operation): Item[] {
  const [, ...others] = Object.values(requestBody?.content["application/json"]?.examples ?? {});
  return [
    item,
    ...others.map(({ summary, value }) => ({
      ...item,
      name: `${item.name}: ${summary}`,
      request: {
        ...item.request,
        body: { ...item.request.body, raw: withNewNames(JSON.stringify(value, null, 2)) },
      },
      response: [],
    })),
  ];
}
