/**
 * Compares the gateway's response to a step with the sandbox's: status codes, members, their types,
 * fixed values, and the form of values that differ between accounts or from call to call.
 */

import type { Json, JsonObject, ResponseSchema } from "../../core/gateway/json.ts";
import { parseTransactionTime } from "../../core/gateway/times.ts";
import { type Recording, SCHEMAS } from "./recordings.ts";

export interface Difference {
  /** A path such as `va_numbers[bca].va_number`, or `HTTP status`. */
  member: string;
  /** What the gateway sent; `missing` if it did not send the member. */
  gateway: string;
  /** What the sandbox sends; `missing` if it does not send the member. */
  assumed: string;
  /** The difference changes what the client reads from the response. */
  affectsClient: boolean;
}

type Scalar = string | number | boolean | null;

/** The values of a response by their path. Objects and lists have an entry of their own. */
type Members = Map<string, Scalar | symbol>;

const OBJECT = Symbol("object");
const LIST = Symbol("list");

const MISSING = "missing";
const BODY = "body";

/** A response can be a whole page of HTML. */
const MAX_SHOWN = 200;

/** Values of these members differ from call to call, or between accounts: their form counts. */
const VARIES = new RegExp(
  "(?:^|_)(?:id|uuid|time|at|date|url)$|" +
    "^(?:(?:permata_)?va_number|number|bill_key|biller_code|payment_code|qr_string|hash|" +
    "approval_code|channel|on_us|merchant_invoice|shopeepay_reference_number|point_balance_amount|value)$",
);

/** Ids and payment numbers: a response names the same as an earlier response, or a new one. */
const IDENTIFIES =
  /^(?:id|transaction_id|order_id|account_id|merchant_id|(?:permata_)?va_number|bill_key|payment_code)$/;

/** Whether these members are present depends on the time that has passed. */
const DEPENDS_ON_TIME = /(?:^|\.)bank_confirmed_at$/;

const FORMS = {
  "a UUID": /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i,
  "a time like 2026-01-31 17:05:09": /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/,
  "a time like 2026-01-31 17:05:09 +0700": /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}$/,
  "a time like 2026-01-31T17:05:09": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?$/,
  "a time like 2026-01-31T17:05:09Z": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-][\d:]+)$/,
  "a URL": /^\w+:\/\//,
};

/** Where each id and payment number was first seen in the responses of one gateway. */
interface Seen {
  /** `transaction_id of "charge bca"`, by value. */
  names: Map<string, string>;
  /** All places where one was seen. */
  places: Set<string>;
}

export interface BothSeen {
  gateway: Seen;
  sandbox: Seen;
}

export function newSeen(): BothSeen {
  const seen = (): Seen => ({ names: new Map(), places: new Set() });
  return { gateway: seen(), sandbox: seen() };
}

/** Adds the ids and payment numbers of both responses to those that were seen. */
export function compareRecordings(
  gateway: Recording,
  sandbox: Recording,
  seen: BothSeen,
): Difference[] {
  const differences = compareMembers(membersOf(gateway), membersOf(sandbox), seen);
  const isReadAlike = JSON.stringify(gateway.reading) === JSON.stringify(sandbox.reading);
  const read = isReadAlike && gateway.reading.error === null
    ? compareMembers(readMembers(gateway), readMembers(sandbox), seen)
    : [];
  const readNames = new Set(read.map(({ member }) => topOf(member)));
  remember(seen.gateway, gateway);
  remember(seen.sandbox, sandbox);
  return differences.map((each) => ({
    ...each,
    affectsClient: !isReadAlike || DERIVED.includes(each.member) ||
      readNames.has(topOf(each.member)),
  }));
}

const LIFETIME = "minutes until expiry";
const SIGNATURE = "signature_key fits the formula";
const DERIVED = [LIFETIME, SIGNATURE];

function membersOf({ response: { http, body }, isSignatureValid }: Recording): Members {
  const members: Members = new Map([["HTTP status", http]]);
  collect(members, "", body);
  if (isSignatureValid !== null) members.set(SIGNATURE, isSignatureValid);
  const lifetime = lifetimeOf(body);
  if (lifetime !== null) members.set(LIFETIME, lifetime);
  return members;
}

/** The members that the client's schema knows, as the client reads them. */
function readMembers({ operation, response: { body } }: Recording): Members {
  const schema: ResponseSchema<object> = SCHEMAS[operation];
  const read = schema.parse(body) as JsonObject;
  const members: Members = new Map();
  for (const name of Object.keys(schema.parse({}))) collect(members, name, read[name]!);
  return members;
}

function collect(members: Members, path: string, value: Json): void {
  if (Array.isArray(value)) {
    members.set(path || BODY, LIST);
    value.forEach((item, index) => collect(members, `${path}[${keyOf(item) ?? index}]`, item));
  } else if (typeof value === "object" && value !== null) {
    members.set(path || BODY, OBJECT);
    for (const [name, each] of Object.entries(value)) {
      collect(members, path ? `${path}.${name}` : name, each);
    }
  } else {
    members.set(path || BODY, value);
  }
}

/** The name of a list's item: its place in the list does not matter. */
function keyOf(item: Json): string | null {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return null;
  const name = item.name ?? item.bank ?? item.refund_key;
  return typeof name === "string" ? name : null;
}

/** In minutes, because the gateway may need seconds between the two times. */
function lifetimeOf(body: Json): number | null {
  const { transaction_time, expiry_time } = body as JsonObject;
  if (typeof transaction_time !== "string" || typeof expiry_time !== "string") return null;
  const [from, to] = [transaction_time, expiry_time].map(parseTransactionTime);
  return from && to ? Math.round((to.getTime() - from.getTime()) / 60_000) : null;
}

function compareMembers(
  gateway: Members,
  sandbox: Members,
  seen: BothSeen,
): Omit<Difference, "affectsClient">[] {
  const differences: Omit<Difference, "affectsClient">[] = [];
  const differing: string[] = [];
  for (const path of new Set([...sandbox.keys(), ...gateway.keys()])) {
    // A derived value that one side lacks follows from a member that is missing there.
    const isDerived = DERIVED.includes(path) && !(gateway.has(path) && sandbox.has(path));
    if (isDerived || DEPENDS_ON_TIME.test(path) || differing.some((each) => includes(each, path))) {
      continue;
    }
    const [sent, assumed] = [gateway.get(path), sandbox.get(path)];
    if (isAlike(path, sent, assumed, seen)) continue;
    differing.push(path);
    differences.push({
      member: path,
      gateway: describe(path, sent, seen.gateway),
      assumed: describe(path, assumed, seen.sandbox),
    });
  }
  return differences;
}

/** Whether the difference of an object, a list or the whole body includes that of a member. */
function includes(path: string, member: string): boolean {
  return path === BODY || member.startsWith(`${path}.`) || member.startsWith(`${path}[`);
}

/** Undefined: the response does not have the member. */
type Value = Scalar | symbol | undefined;

function isAlike(
  path: string,
  sent: Value,
  assumed: Value,
  seen: BothSeen,
): boolean {
  if (sent === assumed) return true;
  if (typeof sent !== typeof assumed || sent === null || assumed === null) return false;
  if (isMasked(sent) || isMasked(assumed)) return true;
  if (IDENTIFIES.test(nameOf(path))) {
    const [from, assumedFrom] = [firstSeen(seen.gateway, sent), firstSeen(seen.sandbox, assumed)];
    if (from !== null && from === assumedFrom) return true;
    // If the earlier response lacked the value, that is a difference of its own.
    const isKnown = (from === null || seen.sandbox.places.has(from)) &&
      (assumedFrom === null || seen.gateway.places.has(assumedFrom));
    if (from !== assumedFrom && isKnown) return false;
  }
  return varies(path) && typeof sent !== "symbol" && formOf(sent) === formOf(assumed);
}

function describe(path: string, value: Value, seen: Seen): string {
  if (value === undefined) return MISSING;
  if (typeof value === "symbol") return value.description!;
  const from = IDENTIFIES.test(nameOf(path)) ? firstSeen(seen, value) : null;
  if (from !== null) return `the ${from}`;
  return varies(path) ? formOf(value) : JSON.stringify(value).slice(0, MAX_SHOWN);
}

function formOf(value: Value): string {
  if (typeof value !== "string") return value === null ? "null" : `a ${typeof value}`;
  const form = Object.entries(FORMS).find(([, pattern]) => pattern.test(value));
  return form ? form[0] : "other text";
}

/** The acquirer of a card payment depends on the account; other banks are those of the request. */
function varies(path: string): boolean {
  return path === "bank" || path !== "order_id" && VARIES.test(nameOf(path));
}

function isMasked(value: Value): boolean {
  return typeof value === "string" && value.includes("[secret]");
}

/** The last name of a path. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

/** The first name of a path. */
function topOf(path: string): string {
  return path.split(/[.[]/, 1)[0]!;
}

function firstSeen(seen: Seen, value: Value): string | null {
  return typeof value === "string" ? seen.names.get(value) ?? null : null;
}

function remember(seen: Seen, { step, response: { body } }: Recording): void {
  const members: Members = new Map();
  collect(members, "", body);
  for (const [path, value] of members) {
    if (typeof value !== "string" || isMasked(value) || !IDENTIFIES.test(nameOf(path))) continue;
    const name = `${path} of "${step}"`;
    if (!seen.names.has(value)) seen.names.set(value, name);
    seen.places.add(name);
  }
}
