/**
 * HTTP requests to the gateway: what an operation specifies, and the request that is built from it.
 */

import type { Json } from "./json.ts";
import { withSecretsIn } from "./mask.ts";

export interface RequestSpec {
  method: "GET" | "POST" | "PATCH";
  path: string;
  query?: Record<string, string | number | undefined>;
  body?: object;
  /** On the host of Snap, the gateway's own payment page. */
  isOnSnapHost?: boolean;
  /** In addition to those that every request has. */
  headers?: Record<string, string>;
  /** Defaults to true for GET. False for GETs that create a card token: those are not retried. */
  isRead?: boolean;
  /** The header for the idempotency key, if the gateway supports one for this operation. */
  keyHeader?: "Idempotency-Key" | "X-Idempotency-Key";
  /** False for operations that authenticate with the client key in the query. */
  usesServerKey?: boolean;
  secrets?: string[];
}

export interface GatewayRequest {
  method: RequestSpec["method"];
  /** Includes the query; appended to the base URL. */
  path: string;
  isOnSnapHost: boolean;
  headers: Record<string, string>;
  body: string | null;
  /** The request changes nothing at the gateway, so it can be repeated. */
  isRead: boolean;
  /** Values in the request that must never appear in a log or an error. */
  secrets: string[];
}

export interface Credentials {
  authorization: string;
  secrets: string[];
}

export function get(path: string, query?: RequestSpec["query"]): RequestSpec {
  return { method: "GET", path, query };
}

export function post(path: string, body?: object): RequestSpec {
  return { method: "POST", path, body };
}

export function patch(path: string, body: object): RequestSpec {
  return { method: "PATCH", path, body };
}

/** A template tag that encodes ids in a path: path`/v2/${orderId}/status`. */
export function path(parts: TemplateStringsArray, ...ids: string[]): string {
  return String.raw({ raw: parts }, ...ids.map(encodeId));
}

function encodeId(id: string): string {
  // Encoding does not help against dots: URLs resolve `%2e%2e` to the parent folder, too.
  if (typeof id !== "string" || id === "" || id === "." || id === ".." || !id.isWellFormed()) {
    throw new TypeError('An id for the gateway must be text other than "", "." and ".."');
  }
  return encodeURIComponent(id);
}

/** The gateway accepts whole rupiah only. */
export function checkAmount(amount: number): number {
  if (Number.isSafeInteger(amount) && amount > 0) return amount;
  throw new TypeError("An amount must be a whole number above 0");
}

export function createCredentials(serverKey: string): Credentials {
  const credential = btoa(`${serverKey}:`);
  return { authorization: `Basic ${credential}`, secrets: [serverKey, credential] };
}

export function buildRequest(
  spec: RequestSpec,
  credentials: Credentials,
  idempotencyKey: string | undefined,
): GatewayRequest {
  const { method, query = {}, usesServerKey = true, keyHeader } = spec;
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  const key = idempotencyKey === undefined ? undefined : checkIdempotencyKey(idempotencyKey);
  return {
    method,
    path: spec.path + (search.size > 0 ? `?${search}` : ""),
    isOnSnapHost: spec.isOnSnapHost ?? false,
    headers: {
      Accept: "application/json",
      "Content-Type": "application/json",
      ...usesServerKey && { Authorization: credentials.authorization },
      ...keyHeader && key && { [keyHeader]: key },
      ...spec.headers,
    },
    body: spec.body === undefined ? null : JSON.stringify(spec.body),
    isRead: spec.isRead ?? method === "GET",
    secrets: withSecretsIn(
      spec.secrets ? [...credentials.secrets, ...spec.secrets] : credentials.secrets,
      Object.fromEntries(search),
      (spec.body ?? null) as Json,
    ),
  };
}

/** The gateway silently ignores a longer key, and the call would not be deduplicated. */
function checkIdempotencyKey(key: string): string {
  if (/^[\x20-\x7e]{1,46}$/.test(key) && key.trim() === key) return key;
  throw new TypeError("An idempotency key must be 1 to 46 printable ASCII characters");
}
