/** Says what is wrong with the answer to a request. */

import { checkResponse } from "../../tests/support/document/contract.ts";
import type { Pool } from "./pool.ts";
import { type FuzzRequest, type Role, urlOf } from "./requests.ts";

export interface Answer {
  /** 0 if the service did not answer. */
  status: number;
  headers: Headers;
  /** The beginning of a stream or an export, the whole of any other body. */
  text: string;
  ms: number;
}

export type FindingKind =
  | "error of the service"
  | "unavailable"
  | "undeclared answer"
  | "schema violation"
  | "security"
  | "no answer";

export interface Finding {
  kind: FindingKind;
  message: string;
}

export interface JudgeSource {
  pool: Pick<Pool, "ownerOf">;
  userOf(role: Role): string | null;
  /** All keys of the run, and the gateway's. */
  keys: readonly string[];
}

const API_KEY = /\bgk_[\w-]{43}(?![\w-])/;
const WEBHOOK_SECRET = /\bwhsec_[\w+/-]{20,}/;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Whose responses contain a key or a webhook secret. */
const KEY_OPERATIONS = ["createKey"];
const SECRET_OPERATIONS = ["createWebhookEndpoint", "rotateWebhookSecret"];

const USERS: readonly Role[] = ["user", "other"];
const WITHOUT_CREDENTIAL: readonly Role[] = ["none", "invalid", "revoked"];

export async function judge(
  source: JudgeSource,
  request: FuzzRequest,
  answer: Answer,
): Promise<Finding[]> {
  if (answer.status === 0) return [{ kind: "no answer", message: answer.text }];
  return [
    ...judgeStatus(answer),
    ...await judgeContract(request, answer),
    ...judgeRole(request, answer),
    ...judgeOwner(source, request, answer),
    ...judgeSecrets(source, request, answer),
  ];
}

function judgeStatus({ status, text }: Answer): Finding[] {
  if (status < 500) return [];
  const code = text.match(/"code":"(\w+)"/)?.[1] ?? text.slice(0, 80);
  const kind = status === 503 && code === "unavailable" ? "unavailable" : "error of the service";
  return [{ kind, message: `${status} ${code}` }];
}

async function judgeContract(request: FuzzRequest, answer: Answer): Promise<Finding[]> {
  const { status, headers, text } = answer;
  const hasBody = status !== 204 && status !== 304 && request.method !== "HEAD";
  const response = new Response(hasBody ? text : null, { status, headers });
  try {
    // OPTIONS has no operation in the document, like other methods that do not exist.
    await checkResponse({ method: request.method, url: urlOf(request) }, response);
    return [];
  } catch (error) {
    const { message } = error as Error;
    const isSchema = /does not match the document|is not JSON/.test(message);
    return [{ kind: isSchema ? "schema violation" : "undeclared answer", message }];
  }
}

function judgeRole({ operation, role, method }: FuzzRequest, { status }: Answer): Finding[] {
  const isAllowed = WITHOUT_CREDENTIAL.includes(role)
    ? operation.isPublic
    : role === "viewer"
    ? method === "GET" || method === "HEAD" || operation.isPublic
    : role === "staff" || !(operation.forStaff || operation.forStaffAndViewers);
  const isSuccess = status >= 200 && status < 300;
  if (isAllowed || !isSuccess) return [];
  return [{ kind: "security", message: `${status} for the role ${role}` }];
}

/** A user must not receive an id or the name of another user, unless it is in the request. */
function judgeOwner(source: JudgeSource, request: FuzzRequest, { text }: Answer): Finding[] {
  if (!USERS.includes(request.role)) return [];
  const user = source.userOf(request.role)!;
  const sent = sentText(request);
  const isSent = (value: string) => sent.includes(value);
  const ids = new Set(text.match(UUID) ?? []);
  const foreign = [...ids].filter((id) => {
    const owner = source.pool.ownerOf(id);
    return owner !== undefined && owner !== user && !isSent(id);
  });
  const others = USERS.map((role) => source.userOf(role)!).filter((each) =>
    each !== user && text.includes(each) && !isSent(each)
  );
  return [...foreign, ...others].slice(0, 1).map((each) => ({
    kind: "security",
    message: `a user receives what belongs to another user: ${each}`,
  }));
}

function judgeSecrets({ keys }: JudgeSource, request: FuzzRequest, { text }: Answer): Finding[] {
  const { id } = request.operation;
  const sent = sentText(request);
  const found = [
    !KEY_OPERATIONS.includes(id) ? text.match(API_KEY)?.[0] : undefined,
    !SECRET_OPERATIONS.includes(id) ? text.match(WEBHOOK_SECRET)?.[0] : undefined,
    ...keys.filter((key) => text.includes(key)),
  ].filter((secret) => secret !== undefined && !sent.includes(secret));
  return found.slice(0, 1).map((secret) => ({
    kind: "security",
    message: `the response contains the secret ${secret!.slice(0, 6)}…`,
  }));
}

/** What the caller sent; an error may repeat it. */
function sentText(request: FuzzRequest): string {
  const { body, headers } = request;
  const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : body ?? "";
  return [decodeQuietly(urlOf(request)), ...Object.values(headers), text].join("\n");
}

function decodeQuietly(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}
