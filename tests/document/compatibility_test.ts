import assert from "node:assert/strict";
import { join } from "node:path";
import {
  assertCompatible,
  breakingChanges,
  lastReleased,
} from "../support/document/compatibility.ts";
import { KNOWN_KEYWORDS } from "../support/document/schema_changes.ts";
import { smallDocument } from "../support/document/small_document.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { PROJECT } from "../support/project.ts";

const current = JSON.parse(await Deno.readTextFile(join(PROJECT, "openapi/openapi.json")));

/** `text`: the expected report of a breaking change, or a name for a compatible change. */
type Change = [text: string, make: (document: Json, schemas: Json) => void];

// The parts of `smallDocument` that the changes below edit.
const list = (document: Json) => document.paths["/orders/"].get;
const create = (document: Json) => document.paths["/orders/"].post;
const ping = (document: Json) => document.paths["/ping/"].get;
const refused = ({ components }: Json) =>
  components.responses.Refused.content["application/problem+json"];
const paid = (document: Json) => document.webhooks.order_paid.post;

/** Adds constraints to members of a component, by `allOf`. */
function addConstraints(schemas: Json, name: string, properties: Json): void {
  schemas[`Any${name}`] = schemas[name];
  schemas[name] = { allOf: [{ properties }, { $ref: `#/components/schemas/Any${name}` }] };
}

const BREAKING: Change[] = [
  // Operations.
  ["GET /ping/: removed", (document) => delete document.paths["/ping/"]],
  ["POST /orders/: removed", (document) => delete document.paths["/orders/"].post],
  [
    "POST /orders/: operationId was createOrder, is makeOrder",
    (document) => create(document).operationId = "makeOrder",
  ],
  ["server /: removed", (document) => document.servers = [{ url: "/v2" }]],
  [
    "GET /ping/: sending no credentials is not enough now",
    (document) => delete ping(document).security,
  ],
  [
    "POST /orders/: bearer is not enough now",
    (document) => create(document).security = [{ bearer: [], signature: [] }],
  ],
  [
    "security scheme bearer: changed",
    (document) => document.components.securitySchemes.bearer.scheme = "basic",
  ],
  ["component Problem: removed", (document, schemas) => {
    schemas.Mistake = schemas.Problem;
    delete schemas.Problem;
    refused(document).schema = { $ref: "#/components/schemas/Mistake" };
  }],
  // Requests.
  ["GET /orders/ query limit: removed", (document) => list(document).parameters.shift()],
  [
    "GET /orders/ header x-request-id: required now",
    (document) => document.components.parameters.RequestId.required = true,
  ],
  ["GET /orders/ query shop: new and required", (document) => {
    list(document).parameters.push({ name: "shop", in: "query", required: true, schema: {} });
  }],
  [
    "GET /orders/ query limit: maximum was 100, is 50",
    (document) => list(document).parameters[0].schema.maximum = 50,
  ],
  ["GET /orders/ query limit: maximum was 100, is 50", (document) => {
    const [limit] = list(document).parameters;
    limit.schema = { type: "array", items: { ...limit.schema, maximum: 50 } };
  }],
  ["GET /orders/ query limit: type was integer, is array", (document) => {
    const [limit] = list(document).parameters;
    limit.schema = { type: "array", items: limit.schema, minItems: 2 };
  }],
  [
    "GET /orders/ query limit: default was 20, is 10",
    (document) => list(document).parameters[0].schema.default = 10,
  ],
  [
    "GET /orders/ query limit: serialization was form, exploded, is spaceDelimited",
    (document) => list(document).parameters[0].style = "spaceDelimited",
  ],
  [
    "GET /orders/ query limit: serialization was form, exploded, is form",
    (document) => list(document).parameters[0].explode = false,
  ],
  [
    "GET /orders/ header x-request-id: serialization was simple, is simple, exploded",
    (document) => document.components.parameters.RequestId.explode = true,
  ],
  [
    "POST /orders/ request: required now",
    (document) => create(document).requestBody.required = true,
  ],
  ["GET /ping/ request: new and required", (document) => {
    ping(document).requestBody = { required: true, content: {} };
  }],
  ["POST /orders/ request application/json: removed", (document) => {
    create(document).requestBody.content = { "text/csv": {} };
  }],
  ["POST /orders/ request OrderRequest: CardOrder removed", (_, { OrderRequest }) => {
    OrderRequest.oneOf.pop();
  }],
  [
    "POST /orders/ request CashOrder.shop: removed",
    (_, { CashOrder }) => delete CashOrder.properties.shop,
  ],
  ["POST /orders/ request CashOrder.shop: required now", (_, { CashOrder }) => {
    CashOrder.required.push("shop");
  }],
  ["POST /orders/ request CashOrder.till: new and required", (_, { CashOrder }) => {
    CashOrder.properties.till = { type: "string" };
    CashOrder.required.push("till");
  }],
  [
    "POST /orders/ request CashOrder.amount: type was number, is integer",
    (_, { CashOrder }) => CashOrder.properties.amount.type = "integer",
  ],
  [
    "POST /orders/ request CashOrder.amount: minimum was 1, is 2",
    (_, { CashOrder }) => CashOrder.properties.amount.minimum = 2,
  ],
  [
    "POST /orders/ request CashOrder.note: may not be null now",
    (_, { CashOrder }) => CashOrder.properties.note.type = "string",
  ],
  [
    "POST /orders/ request CashOrder.note: maxLength was 50, is 20",
    (_, { CashOrder }) => CashOrder.properties.note.maxLength = 20,
  ],
  [
    "POST /orders/ request CashOrder.note: minLength was none, is 1",
    (_, { CashOrder }) => CashOrder.properties.note.minLength = 1,
  ],
  [
    'POST /orders/ request CashOrder.note: pattern was "^[a-z]*$", is "^[a-y]*$"',
    (_, { CashOrder }) => CashOrder.properties.note.pattern = "^[a-y]*$",
  ],
  [
    'POST /orders/ request CashOrder.shop: "south" removed',
    (_, { CashOrder }) => CashOrder.properties.shop.enum.pop(),
  ],
  [
    'POST /orders/ request CardOrder.token: only "a" now',
    (_, { CardOrder }) => CardOrder.properties.token.const = "a",
  ],
  [
    "POST /orders/ request CardOrder: no other members now",
    (_, { CardOrder }) => CardOrder.additionalProperties = false,
  ],
  ["POST /orders/ request CardOrder.token: was one schema, is one of several", (_, schemas) => {
    schemas.CardOrder.properties.token = { oneOf: [{ type: "integer" }, { type: "boolean" }] };
  }],
  [
    "POST /orders/ request OrderRequest.gift: type was boolean, is string",
    (_, { OrderRequest }) => OrderRequest.properties.gift.type = "string",
  ],
  [
    "POST /orders/ request OrderRequest.gift: required now",
    (_, { OrderRequest }) => OrderRequest.required = ["gift"],
  ],
  [
    "POST /orders/ request OrderRequest: minProperties was none, is 1",
    (_, { OrderRequest }) => OrderRequest.minProperties = 1,
  ],
  [
    "POST /orders/ request OrderRequest: type was object, is string",
    (_, { OrderRequest }) => OrderRequest.type = "string",
  ],
  ["POST /orders/ request CardOrder: was one schema, is one of several", (_, schemas) => {
    schemas.CardOrder = { oneOf: [schemas.CardOrder, { type: "string" }], required: ["pin"] };
  }],
  [
    'POST /orders/ request CashOrder.shop: default was none, is "north"',
    (_, { CashOrder }) => CashOrder.properties.shop.default = "north",
  ],
  [
    "POST /orders/ request CardOrder.digits: maxLength was 16, is 12",
    (_, { CardOrder }) => CardOrder.properties.digits.allOf[0].maxLength = 12,
  ],
  [
    "POST /orders/ request CardOrder.digits: maxLength was 16, is 8",
    (_, { CardOrder }) => CardOrder.properties.digits.maxLength = 8,
  ],
  [
    "POST /orders/ request CardOrder.digits: maxLength was 16, is 12",
    (_, schemas) => addConstraints(schemas, "CardOrder", { digits: { maxLength: 12 } }),
  ],
  [
    'POST /orders/ request CardOrder.token: only "a" now',
    (_, schemas) => addConstraints(schemas, "CardOrder", { token: { const: "a" } }),
  ],
  [
    'POST /orders/ request CashOrder.shop: "south" removed',
    (_, schemas) => addConstraints(schemas, "CashOrder", { shop: { enum: ["north", "west"] } }),
  ],
  [
    "POST /orders/ request CashOrder.amount: type was number, is integer",
    (_, schemas) => addConstraints(schemas, "CashOrder", { amount: { type: "integer" } }),
  ],
  [
    "POST /orders/ request CashOrder.note: may not be null now",
    (_, schemas) => addConstraints(schemas, "CashOrder", { note: { type: "string" } }),
  ],
  [
    'POST /orders/ request CashOrder.note: pattern was "^[a-z]*$", is ["^[a-z]*$","^a"]',
    (_, schemas) => addConstraints(schemas, "CashOrder", { note: { pattern: "^a" } }),
  ],
  [
    "POST /orders/ request CardOrder.marks[]: maxLength was none, is 3",
    (_, schemas) => addConstraints(schemas, "CardOrder", { marks: { items: { maxLength: 3 } } }),
  ],
  ["POST /orders/ request CardOrder.extra.*: maxLength was none, is 3", (_, schemas) => {
    const additionalProperties = { maxLength: 3 };
    addConstraints(schemas, "CardOrder", { extra: { additionalProperties } });
  }],
  ["POST /orders/ request CardOrder.extra: no other members now", (_, schemas) => {
    addConstraints(schemas, "CardOrder", { extra: { additionalProperties: false } });
  }],
  // Responses.
  ["GET /ping/ 204: removed", (document) => ping(document).responses = { 200: {} }],
  [
    "GET /orders/ 200 text/csv: removed",
    (document) => delete list(document).responses[200].content["text/csv"],
  ],
  [
    "GET /orders/ 200 header link: removed",
    (document) => delete list(document).responses[200].headers.Link,
  ],
  [
    "POST /orders/ 201 header x-request-id: no longer always present",
    (document) => document.components.headers.RequestId.required = false,
  ],
  ["POST /orders/ 400 sold_out: removed", (document) => {
    delete refused(document).examples.sold_out;
  }],
  [
    "GET /orders/ 200 Order.note: removed, and in 3 more",
    (_, { Order }) => delete Order.properties.note,
  ],
  ["GET /orders/ 200 Order.id: no longer always present, and in 3 more", (_, { Order }) => {
    Order.required.shift();
  }],
  [
    "GET /orders/ 200 Order.id: may be null now, and in 3 more",
    (_, { Order }) => Order.properties.id.type = ["string", "null"],
  ],
  [
    "GET /orders/ 200 Order.id: type was string, is string,integer, and in 3 more",
    (_, { Order }) => Order.properties.id.type = ["string", "integer"],
  ],
  [
    'GET /orders/ 200 Order.id: format was "uuid", is none, and in 3 more',
    (_, { Order }) => delete Order.properties.id.format,
  ],
  [
    "GET /orders/ 200 Order.id: maxLength was 36, is 64, and in 3 more",
    (_, { Order }) => Order.properties.id.maxLength = 64,
  ],
  [
    'GET /orders/ 200 Order.state: "paid" removed, and in 3 more',
    (_, { Order }) => Order.properties.state.enum.pop(),
  ],
  [
    'GET /orders/ 200 Order.state: no longer only "open", "paid", and in 3 more',
    (_, { Order }) => delete Order.properties.state.enum,
  ],
  [
    "GET /orders/ 200 Order.labels.*: type was string, is any, and in 3 more",
    (_, { Order }) => Order.properties.labels.additionalProperties = true,
  ],
  [
    "GET /orders/ 200 Order.labels.*: removed, and in 3 more",
    (_, { Order }) => Order.properties.labels.additionalProperties = false,
  ],
  [
    "GET /orders/ 200 Person.phone: removed, and in 3 more",
    (_, { Person }) => Person.allOf.pop(),
  ],
  ["POST /orders/ 400 Problem.order: may be null now", (_, { Problem }) => {
    Problem.properties.order = { oneOf: [Problem.properties.order, { type: "null" }] };
  }],
  ["GET /orders/ 200 Order.copies[]: may be null now, and in 3 more", (_, { Order }) => {
    Order.properties.copies.items = { oneOf: [Order.properties.copies.items, { type: "null" }] };
  }],
  ["GET /orders/ 200: type was array, is object", (document) => {
    list(document).responses[200].content["application/json"].schema = { type: "object" };
  }],
  [
    "POST /orders/ 400 Problem.code: may be null now",
    (_, { Problem }) => Problem.properties.code.type = ["string", "null"],
  ],
  ["POST /orders/ 400 Problem: was one schema, is one of several", (_, { Problem }) => {
    Problem.oneOf = [{ type: "object" }, { type: "string" }];
  }],
  // Webhooks.
  ["webhook order_paid: removed", (document) => document.webhooks = {}],
  [
    "webhook order_paid header webhook-id: no longer always present",
    (document) => paid(document).parameters[0].required = false,
  ],
  ["webhook order_paid request Order: type was object, is string", (document) => {
    paid(document).requestBody.content["application/json"].schema = { type: "string" };
  }],
];

const COMPATIBLE: Change[] = [
  ["a new path", (document) => document.paths["/refunds/"] = document.paths["/ping/"]],
  ["a new operation", (document) => document.paths["/ping/"].post = ping(document)],
  ["a new webhook", (document) => document.webhooks.order_sent = document.webhooks.order_paid],
  ["a new server", (document) => document.servers.push({ url: "https://example.com" })],
  ["another summary, description and example", (document, { Order }) => {
    create(document).summary = Order.description = "New";
    Order.properties.id.example = "x";
  }],
  [
    "another accepted credential",
    (document) => create(document).security = [{ bearer: [] }, { key: [] }],
  ],
  ["a credential that is no longer required", (document) => create(document).security = []],
  ["a new optional parameter", (document) => {
    list(document).parameters.push({ name: "shop", in: "query", schema: { type: "string" } });
  }],
  [
    "a parameter with a higher maximum",
    (document) => list(document).parameters[0].schema.maximum = 1000,
  ],
  ["a query parameter that takes several values", (document) => {
    const [limit] = list(document).parameters;
    limit.schema = { type: "array", items: limit.schema, minItems: 1 };
  }],
  ["default values of a parameter, written explicitly", (document) => {
    Object.assign(list(document).parameters[0], { style: "form", explode: true });
    document.components.parameters.RequestId.style = "simple";
  }],
  ["a new optional body", (document) => ping(document).requestBody = { content: {} }],
  ["a new status", (document) => create(document).responses[409] = {}],
  ["a new error", (document) => {
    refused(document).examples.closed = {};
  }],
  ["a new header", (document) => create(document).responses[201].headers.Link = { schema: {} }],
  ["a new media type", (document) => {
    create(document).requestBody.content["text/csv"] = { schema: { type: "string" } };
  }],
  ["a new optional member in a request", (_, { CashOrder }) => {
    CashOrder.properties.till = { type: "string" };
  }],
  ["a request member that is no longer required", (_, { CashOrder }) => {
    CashOrder.required = [];
  }],
  ["a request with weaker constraints", (_, { CashOrder, CardOrder }) => {
    Object.assign(CashOrder.properties.note, { maxLength: 100, pattern: undefined });
    Object.assign(CashOrder.properties.amount, { minimum: 0, type: ["number", "null"] });
    delete CashOrder.properties.shop.enum;
    CardOrder.properties.token.type = ["string", "integer"];
  }],
  [
    "a new enum value in a request",
    (_, { CashOrder }) => CashOrder.properties.shop.enum.push("west"),
  ],
  ["a bound that changes but stays weaker than another bound", (_, { CardOrder }) => {
    CardOrder.properties.digits.allOf[1].maxLength = 17;
  }],
  ["added constraints that the component already implies", (_, schemas) => {
    addConstraints(schemas, "CashOrder", {
      amount: { type: ["number", "null"], minimum: 0 },
      note: { type: ["null", "string"], maxLength: 60, pattern: "^[a-z]*$" },
      shop: { enum: ["south", "west", "north"] },
    });
    addConstraints(schemas, "CardOrder", { marks: { items: { type: "string" } }, extra: {} });
  }],
  ["a response without additional members", (_, { Order }) => {
    Order.additionalProperties = false;
  }],
  ["a referenced response that is now inline", (document) => {
    create(document).responses[400] = document.components.responses.Refused;
  }],
  ["a new request member with a default", (_, { CashOrder }) => {
    CashOrder.properties.till = { type: "string", default: "1" };
  }],
  ["a new kind of request", (_, schemas) => {
    schemas.GiftOrder = { type: "object" };
    schemas.OrderRequest.oneOf.push({ $ref: "#/components/schemas/GiftOrder" });
  }],
  ["oneOf that includes the previous type", (_, { CardOrder }) => {
    CardOrder.properties.token = { oneOf: [{ type: "integer" }, { type: "string" }] };
  }],
  ["a type that is no longer declared next to oneOf", (_, { OrderRequest }) => {
    delete OrderRequest.type;
  }],
  ["a request object, or a string instead", (_, schemas) => {
    schemas.CardOrder = { oneOf: [schemas.CardOrder, { type: "string" }] };
  }],
  ["oneOf that still allows null", (_, { CashOrder }) => {
    const { type: _type, ...note } = CashOrder.properties.note;
    const kinds = [{ type: "string", ...note }, { type: "integer" }, { type: "null" }];
    CashOrder.properties.note = { oneOf: kinds };
  }],
  ["a new response member", (_, { Order }) => {
    Order.properties.total = { type: "number" };
    Order.required.push("total");
  }],
  ["a response member that is now required", (_, { Order }) => Order.required.push("note")],
  ["a response with stronger constraints", (_, { Order }) => {
    Order.properties.note = { type: "string", maxLength: 10, pattern: "^x$", enum: ["x"] };
    Order.properties.id.maxLength = 20;
    Order.properties.payer = Order.properties.payer.anyOf[0];
  }],
  ["a new enum value in a response", (_, { Order }) => Order.properties.state.enum.push("sent")],
  ["an inline schema that is now a component", (_, schemas) => {
    schemas.State = schemas.Order.properties.state;
    schemas.Order.properties.state = { $ref: "#/components/schemas/State" };
  }],
];

function applyChange(make: Change[1]): Json {
  const document = smallDocument();
  make(document, document.components.schemas);
  return document;
}

Deno.test("compatibility: the document has no breaking change since the last release", async () => {
  assertCompatible(await lastReleased(), current);
});

Deno.test("compatibility: each breaking change is reported", () => {
  for (const [line, make] of BREAKING) {
    assert.deepEqual(breakingChanges(smallDocument(), applyChange(make)), [line]);
  }
});

Deno.test("compatibility: compatible changes are not reported", () => {
  for (const [name, make] of COMPATIBLE) {
    const document = applyChange(make);
    assert.notDeepEqual(document, smallDocument(), name);
    assert.deepEqual(breakingChanges(smallDocument(), document), [], name);
  }
});

Deno.test("compatibility: a recursive schema that moves into oneOf is compared once", () => {
  const withRecursiveOrder = (document: Json) => {
    const properties = { nested: { $ref: "#/components/schemas/CardOrder" } };
    document.components.schemas.CardOrder = { type: "object", properties };
    return document;
  };
  const current = withRecursiveOrder(smallDocument());
  const { schemas } = current.components;
  schemas.CardOrder = { oneOf: [schemas.CardOrder, { type: "string" }] };
  assert.deepEqual(breakingChanges(withRecursiveOrder(smallDocument()), current), []);
});

Deno.test("compatibility: a schema composed with a recursive schema is compared once", () => {
  const recursiveSchema = (name: string) => {
    const items = { $ref: `#/components/schemas/${name}` };
    return { type: "object", properties: { nested: { type: "array", items } } };
  };
  const composed = applyChange((_, schemas) => {
    schemas.Box = recursiveSchema("Box");
    schemas.CardOrder = {
      allOf: [recursiveSchema("CardOrder"), { $ref: "#/components/schemas/Box" }],
    };
  });
  assert.deepEqual(breakingChanges(composed, structuredClone(composed)), []);
});

Deno.test("compatibility: parameters of a whole path are an error, because they are not compared", () => {
  const withPathParameters = applyChange((document) => document.paths["/ping/"].parameters = []);
  assert.throws(
    () => breakingChanges(smallDocument(), withPathParameters),
    /\/ping\/: declare the parameters at/,
  );
  assert.throws(
    () => breakingChanges(withPathParameters, smallDocument()),
    /\/ping\/: declare the parameters at/,
  );
});

Deno.test("compatibility: a breaking change needs a new major version", () => {
  const broken = applyChange((document) => delete document.paths["/ping/"]);
  for (const version of ["1.4.2", "1.5.0", "0.9.0"]) {
    broken.info.version = version;
    assert.throws(() => assertCompatible(smallDocument(), broken), /GET \/ping\/: removed/);
  }
  broken.info.version = "2.0.0";
  assertCompatible(smallDocument(), broken);
});

Deno.test("compatibility: the version must not decrease", () => {
  const document = smallDocument();
  for (const version of ["1.4.1", "1.3.9", "0.9.9"]) {
    document.info.version = version;
    assert.throws(
      () => assertCompatible(smallDocument(), document),
      /lower than the released version 1\.4\.2/,
    );
  }
  for (const version of ["1.4.2", "1.4.10", "1.10.0", "2.0.0"]) {
    document.info.version = version;
    assertCompatible(smallDocument(), document);
  }
});

Deno.test("compatibility: a removal in the real document is reported once, with the number of other places", () => {
  const narrowed = structuredClone(current);
  delete narrowed.components.schemas.Payment.properties.va_number;
  delete narrowed.paths["/me/"];
  const changes = breakingChanges(current, narrowed);
  assert.ok(changes.includes("GET /me/: removed"), `${changes}`);
  const [removal] = changes.filter((line) => line.includes(" Payment.va_number: removed"));
  assert.match(removal ?? "", /^POST \/charge\/ 201 Payment\.va_number: removed, and in \d+ more/);
  assert.deepEqual(breakingChanges(current, structuredClone(current)), []);
});

Deno.test("compatibility: every keyword of the document is compared", () => {
  const unknownKeywords = new Set<string>();
  const check = (schema: Json): void => {
    for (const [keyword, value] of Object.entries<Json>(schema)) {
      if (!KNOWN_KEYWORDS.includes(keyword)) unknownKeywords.add(keyword);
      if (keyword === "properties") Object.values(value).forEach(check);
      else if (/^(allOf|oneOf|anyOf)$/.test(keyword)) value.forEach(check);
      else if (/^(items|additionalProperties)$/.test(keyword) && value !== false) check(value);
    }
  };
  const find = (value: Json): void => {
    if (typeof value !== "object" || value === null) return;
    if (value.schema) check(value.schema);
    for (const [name, part] of Object.entries(value)) if (!/^examples?$/.test(name)) find(part);
  };
  Object.values(current.components.schemas).forEach(check);
  find([current.paths, current.webhooks, current.components]);
  assert.deepEqual([...unknownKeywords], []);
});
