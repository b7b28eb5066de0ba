/** Makes the HTTP request of a draft: key, headers, bytes. */

import type { Draft } from "./draft.ts";
import type { Json } from "./json.ts";
import { withSecretsIn } from "./mask.ts";

export interface GatewayRequest {
  method: Draft["method"];
  /** With the query; to be put behind the base URL. */
  path: string;
  headers: Record<string, string>;
  body: string | null;
  /** Whether it changes nothing, however often it is sent. */
  isRead: boolean;
  /** What in it nobody may read. */
  secrets: string[];
}

/** Whom the gateway takes us for. */
export interface Credentials {
  authorization: string;
  secrets: string[];
}

export function credentialsOf(serverKey: string): Credentials {
  const credential = btoa(`${serverKey}:`);
  return { authorization: `Basic ${credential}`, secrets: [serverKey, credential] };
}

export function buildRequest(
  draft: Draft,
  credentials: Credentials,
  idempotencyKey: string | undefined,
): GatewayRequest {
  const { method, query = {}, usesServerKey = true, keyHeader } = draft;
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  const key = idempotencyKey === undefined ? undefined : checkedKey(idempotencyKey);
  return {
    method,
    path: draft.path + (search.size > 0 ? `?${search}` : ""),
    headers: {
      Accept: "application/json",
      "Content-Type": "application/json",
      ...usesServerKey && { Authorization: credentials.authorization },
      ...keyHeader && key && { [keyHeader]: key },
    },
    body: draft.body === undefined ? null : JSON.stringify(draft.body),
    isRead: draft.isRead ?? method === "GET",
    secrets: withSecretsIn(
      draft.secrets ? [...credentials.secrets, ...draft.secrets] : credentials.secrets,
      Object.fromEntries(search),
      (draft.body ?? null) as Json,
    ),
  };
}

/** The gateway would ignore a longer one without a word, and the call would not be protected. */
function checkedKey(key: string): string {
  if (/^[\x20-\x7e]{1,46}$/.test(key) && key.trim() === key) return key;
  throw new TypeError("An idempotency key must be 1 to 46 printable ASCII characters");
}
