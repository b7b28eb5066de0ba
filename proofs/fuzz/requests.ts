/**
 * Generates requests. Request n of a seed always has the same operation, caller and kind of input;
 * only what earlier responses returned, such as ids, differs between runs.
 */

import { createRandom, type Random, seededState } from "../../sandbox/engine/random.ts";
import { sign } from "../../tests/support/gateway/notifications.ts";
import type { Json } from "../../tests/support/gateway/sandbox.ts";
import { type Operation, OPERATIONS, type Parameter, resolve } from "./document.ts";
import type { Pool } from "./pool.ts";
import {
  boundaryValue,
  breakText,
  chance,
  HOSTILE_VALUES,
  mutate,
  pick,
  validValue,
  type ValueSource,
  withBoundary,
  writeJson,
} from "./values.ts";

export type Role = "none" | "invalid" | "revoked" | "user" | "other" | "viewer" | "staff";

export interface FuzzRequest {
  number: number;
  operation: Operation;
  role: Role;
  method: string;
  /** The values of the path parameters, as they are in the path. */
  params: Record<string, string>;
  /** `name=value`, as they are in the URL. */
  query: string[];
  headers: Record<string, string>;
  body: string | Uint8Array<ArrayBuffer> | null;
}

/** What the requests of a run share. */
export interface RequestSource {
  seed: number;
  pool: Pool;
  /** The user id of a role; null if the role sees the records of all users, or none. */
  userOf(role: Role): string | null;
  outside: OutsideValues;
  /** The last requests with an Idempotency-Key. */
  repeatable: FuzzRequest[];
}

/** Values that come from outside of the service. */
export interface OutsideValues {
  /** URL of a server that accepts webhooks. */
  receiver: string;
  /** Tokens of a card for one charge, and of a saved card. */
  cardToken(random: Random): string;
  savedCard(random: Random): string;
  /** A line of a settlement report about a transaction that only the gateway knows. */
  unknownTransaction(random: Random): string;
}

/** What the parts of one request share. */
interface Draft extends ValueSource {
  source: RequestSource;
  operation: Operation;
  user: string | null;
}

/** The gateway's key of the service; the default key of the sandbox is public. */
export const SERVER_KEY = "SB-Mid-server-fuzz";

const MAX_REPEATABLE = 50;

/** More endpoints would multiply the deliveries of every event. */
const MAX_ENDPOINTS = 3;

const ROLES: readonly [percent: number, role: Role][] = [
  [45, "staff"],
  [22, "user"],
  [10, "other"],
  [10, "viewer"],
  [5, "none"],
  [4, "invalid"],
  [4, "revoked"],
];

const BAD_HEADERS = [
  "",
  "x",
  "x".repeat(128),
  "x".repeat(255),
  "x".repeat(256),
  "x".repeat(4_000),
  "kl\xfc",
  "a, b",
  "respond-async; wait=5",
  "wait=0",
  '"quoted"',
];

const BAD_TYPES = [
  null,
  "",
  "x",
  "text/plain",
  "text/csv",
  "application/xml",
  "application/json; charset=utf-16",
  "application/json;;",
  "multipart/form-data; boundary=x",
];

/** Operations that create the records of the others. */
const CREATING = OPERATIONS.filter(({ method, body, path }) =>
  method === "POST" && body !== null && !path.includes("{")
);

const byId = new Map(OPERATIONS.map((operation) => [operation.id, operation]));

const OTHER_METHODS = ["PUT", "HEAD", "DELETE", "OPTIONS"];

const MALFORMED_IDS = ["x", "0", "-1", "%00", "%ff", "%F0%9F%92%B3", "a%2Fb", "%", "null", "1e9"]
  .concat("x".repeat(2_000), "01a1f037-75cd-7464-b354-7cb7bc664f2", "{pk}", "'", "%0d%0a");

export function createRequest(source: RequestSource, number: number): FuzzRequest {
  // Without the factor, request 1 of seed 2 would be request 2 of seed 1.
  const random = createRandom(seededState(Math.imul(source.seed, 0x9e3779b1) + number));
  const repeated = chance(random, 4) ? repeat(random, source.repeatable) : null;
  if (repeated) return { ...repeated, number };
  const operation = chooseOperation(random, source.pool);
  const role = chooseRole(random, operation);
  const user = source.userOf(role);
  const draft = {
    random,
    source,
    operation,
    user,
    known: knownValues(random, source, operation, user),
  };
  const request: FuzzRequest = {
    number,
    operation,
    role,
    method: chance(random, 1) ? pick(random, OTHER_METHODS) : operation.method,
    params: createParams(draft),
    query: createQuery(draft),
    headers: createHeaders(draft),
    body: null,
  };
  addBody(draft, request);
  if ("Idempotency-Key" in request.headers && !(request.body instanceof Uint8Array)) {
    source.repeatable.push(request);
    if (source.repeatable.length > MAX_REPEATABLE) source.repeatable.shift();
  }
  return request;
}

/** The URL of the request, without the address of the service. */
export function urlOf({ operation, params, query }: FuzzRequest): string {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => params[name]!);
  return query.length > 0 ? `${path}?${query.join("&")}` : path;
}

function chooseOperation(random: Random, pool: Pool): Operation {
  const operation = chance(random, 25) ? pick(random, CREATING) : pick(random, OPERATIONS);
  const hasEnough = pool.size("/webhook-endpoints/") >= MAX_ENDPOINTS;
  return operation.id === "createWebhookEndpoint" && hasEnough
    ? byId.get("deleteWebhookEndpoint")!
    : operation;
}

function chooseRole(random: Random, { isPublic }: Operation): Role {
  if (isPublic && chance(random, 80)) return "none";
  let left = random.below(100);
  return ROLES.find(([percent]) => (left -= percent) < 0)![1];
}

/** The same request with the same key, or another one with it, by any caller. */
function repeat(random: Random, requests: FuzzRequest[]): FuzzRequest | null {
  if (requests.length === 0) return null;
  const request = pick(random, requests);
  if (chance(random, 60)) return request;
  if (chance(random, 50)) return { ...request, role: pick(random, ["user", "other", "staff"]) };
  return request.method === "HEAD" ? request : { ...request, body: "{}" };
}

function knownValues(
  random: Random,
  { pool, outside, userOf }: RequestSource,
  operation: Operation,
  user: string | null,
): ValueSource["known"] {
  const idOf = (collection: string) => () =>
    Object.values(pool.pick(random, collection, user)?.params ?? { id: random.uuid() })[0];
  const factOf = (name: string, collection = "/payments/") => () =>
    pool.pick(random, collection, user)?.facts[name] ?? random.hex(8);
  // Order ids begin with a digit, because the prefixes of keys begin with a letter.
  const newId = () => `9-${random.hex(12)}`;
  const isList = operation.method === "GET";
  const isSubscription = operation.id.endsWith("Subscription");
  return {
    order_id: isList ? factOf("order_id") : newId,
    invoice_number: newId,
    transaction_id: factOf("transaction_id"),
    payment_id: idOf("/payments/"),
    resource_id: idOf(pick(random, ["/payments/", "/invoices/", "/subscriptions/"])),
    invoice_id: idOf("/invoices/"),
    subscription_id: idOf("/subscriptions/"),
    user_id: () => isList ? userOf(pick(random, ["user", "other"])) : `shop ${random.below(100)}`,
    token_id: () => outside.cardToken(random),
    ...isSubscription && { token: () => outside.savedCard(random) },
    url: () => outside.receiver,
    due_date: () => "2099-12-31",
    start_time: () => "2099-01-01T02:00:00Z",
    expires_at: () => new Date(Date.now() + 3_600_000).toISOString(),
    from: () => "2026-11-01T00:00:00Z",
    to: () => "2026-11-30T00:00:00Z",
    columns: () => JSON.stringify({ amount: "gross_amount" }),
    "Last-Event-ID": idOf("/events/"),
  };
}

function createParams(draft: Draft): Record<string, string> {
  const { random, source, operation, user } = draft;
  const found = source.pool.find(random, operation, user)?.params ?? {};
  const isFound = chance(random, 88);
  return Object.fromEntries(
    parametersIn(operation, "path").map(({ name, schema }) => {
      if (isFound && name in found) return [name, found[name]!];
      if (isFound || chance(random, 50)) return [name, `${validValue(draft, schema, name)}`];
      return [name, pick(random, MALFORMED_IDS)];
    }),
  );
}

function createQuery(draft: Draft): string[] {
  const { random, source, operation } = draft;
  const parameters = parametersIn(operation, "query").filter(({ name }) => name !== "cursor");
  if (parameters.length === 0) return chance(random, 2) ? ["unknown=1"] : [];
  const isWrong = chance(random, 20);
  const cursor = isWrong ? random.hex(16) : source.pool.cursor(random, operation);
  // Most cursors are of a list without filters, and valid for such a list only.
  if (cursor !== null && chance(random, 10)) return [`cursor=${encodeURIComponent(cursor)}`];
  const chosen = Array.from({ length: random.below(4) }, () => pick(random, parameters));
  return [...new Set(chosen)].flatMap((parameter) => queryOf(draft, parameter));
}

function parametersIn({ parameters }: Operation, place: Parameter["in"]): Parameter[] {
  return parameters.filter((parameter) => parameter.in === place);
}

function queryOf(draft: Draft, { name, schema }: Parameter): string[] {
  const { random } = draft;
  const kind = random.below(100);
  const value = kind < 75
    ? validValue(draft, schema, name)
    : kind < 90
    ? boundaryValue(random, resolve(schema))
    : pick(random, HOSTILE_VALUES);
  const list: Json[] = Array.isArray(value) ? value : [value];
  const pairs = list.map((each) => `${name}=${encodeURIComponent(textOf(each))}`);
  if (kind < 96) return pairs;
  return pick(random, [[...pairs, ...pairs], [`${name}=%`], [`${name}=%ff`], [name], [
    `${name}[]=1`,
  ]]);
}

function textOf(value: Json): string {
  return (typeof value === "string" ? value : JSON.stringify(value)).toWellFormed();
}

function createHeaders(draft: Draft): Record<string, string> {
  const { random, operation } = draft;
  const headers: Record<string, string> = {};
  for (const { name, schema } of parametersIn(operation, "header")) {
    if (!chance(random, name === "X-Request-Id" ? 5 : 30)) continue;
    const valid = name === "Prefer"
      ? "respond-async"
      : name === "Last-Event-ID"
      ? `${validValue(draft, schema, name)}`
      : random.uuid();
    headers[name] = chance(random, 85)
      ? valid
      : pick(random, [...BAD_HEADERS, `${valid}, ${valid}`]);
  }
  return headers;
}

function addBody(draft: Draft, request: FuzzRequest): void {
  const { random, operation: { body } } = draft;
  if (request.method === "GET" || request.method === "HEAD") return;
  if (body === null) {
    if (!chance(random, 20)) return;
    request.headers["Content-Type"] = "application/json";
    request.body = pick(random, ["{}", "null", "", "{", "[]", '{"a":1}']);
    return;
  }
  request.headers["Content-Type"] = body.type;
  const text = body.type === "text/csv" ? createReport(draft) : createJson(draft);
  request.body = chance(random, 92) ? text : breakText(random, text);
  if (chance(random, 4)) breakContentType(random, request);
}

function breakContentType(random: Random, { headers }: FuzzRequest): void {
  const type = pick(random, BAD_TYPES);
  if (type === null) delete headers["Content-Type"];
  else headers["Content-Type"] = type;
  if (chance(random, 20)) headers["Content-Encoding"] = pick(random, ["gzip", "br", "identity"]);
}

function createJson(draft: Draft): string {
  const { random, operation } = draft;
  const { schema, examples } = operation.body!;
  const isExample = examples.length > 0 && chance(random, 60);
  // Cards can do most: authorizations, captures, challenges and their reviews.
  const card = chance(random, 30) ? examples.find((each) => "token_id" in each) : undefined;
  const created = isExample
    ? fillExample(draft, card ?? pick(random, examples))
    : validValue(draft, schema);
  const valid = matchTotal(draft, created);
  const kind = random.below(100);
  const value = kind < 60
    ? valid
    : kind < 80
    ? withBoundary(random, schema, valid)
    : mutate(random, valid);
  const isSigned = operation.id === "receiveNotification" && chance(random, 85);
  return writeJson(random, isSigned ? signNotification(draft, value) : value);
}

/** The examples have ids that can be used only once, and tokens of cards that do not exist. */
function fillExample({ random, known }: Draft, example: Json): Json {
  const names = Object.keys(example).filter((name) => Object.hasOwn(known, name));
  return {
    ...example,
    ...Object.fromEntries(names.map((name) => [name, known[name]!()])),
    ..."token_id" in example &&
      { authentication: chance(random, 50), authorize: chance(random, 50) },
  };
}

/** The prices of the items must add up to the amount. */
function matchTotal({ random }: Draft, body: Json): Json {
  const items = body?.item_details;
  if (!Array.isArray(items) || chance(random, 10)) return body;
  const total = items.reduce((sum, { price = 0, quantity = 1 }) => sum + price * quantity, 0);
  return total > 0 ? { ...body, gross_amount: total } : { ...body, item_details: undefined };
}

/** About a payment of the service, or a transaction that neither it nor the gateway knows. */
function signNotification({ random, source, known }: Draft, value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  const payment = chance(random, 50) ? source.pool.pick(random, "/payments/", null)?.facts : null;
  const { order_id = known.order_id!(), transaction_id = random.uuid(), gross_amount } = payment ??
    {};
  const status = pick(random, [
    "settlement",
    "pending",
    "deny",
    "cancel",
    "expire",
    "capture",
    "x",
  ]);
  return sign({
    ...value,
    order_id,
    transaction_id,
    ...gross_amount && { gross_amount },
    ...chance(random, 50) && { transaction_status: status },
  }, SERVER_KEY);
}

/** A settlement report about payments of the service, with errors and unknown transactions. */
function createReport({ random, source }: Draft): string {
  const header = "order_id,transaction_id,gross_amount,fee,net_amount,settlement_time";
  const lines = Array.from({ length: random.below(6) }, () => {
    if (chance(random, 20)) return source.outside.unknownTransaction(random);
    const { order_id = "x", transaction_id = "", gross_amount = "10000.00" } =
      source.pool.pick(random, "/payments/", null)?.facts ?? {};
    const amount = chance(random, 90)
      ? gross_amount
      : pick(random, ["-5", "", "1e9", "Rp 1.500", "x"]);
    const time = chance(random, 95) ? "2026-11-18 10:12:09" : pick(random, ["", "yesterday"]);
    return [order_id, transaction_id, amount, pick(random, ["880.00", ""]), "", time].join(",");
  });
  return [header, ...lines, ""].join("\r\n");
}
