/** The gateway's families of endpoints: each has its own way to check keys and to say no (G§2.2). */

import { Refusal, type RefusalCode } from "../http/refusal.ts";
import type { Answer } from "../http/response.ts";
import type { World } from "../world/world.ts";
import { CORE_LIFE, type IdempotencyRules, SUBSCRIPTION_LIFE } from "./idempotency.ts";

export interface Family {
  authorize(authorization: string | null, world: World): void;
  succeed(body: Record<string, unknown>, http?: number): Answer;
  refuse(refusal: Refusal, id: string): Answer;
  idempotency: IdempotencyRules | null;
}

/** `/v2`: the body has the code; HTTP says 200 to most of it. */
export const CORE: Family = {
  authorize: needServerKey,
  succeed: (body) => ({ http: 200, body, isSuccess: isKept(body) }),
  refuse: ({ code, message, validation, members }, id) => ({
    http: HONEST.includes(code) ? code : 200,
    isSuccess: false,
    body: {
      status_code: String(code),
      status_message: message,
      ...validation.length > 0 && { validation_messages: validation },
      id,
      ...members,
    },
  }),
  idempotency: { header: "idempotency-key", life: CORE_LIFE },
};

/** Codes that HTTP says as well. */
const HONEST: RefusalCode[] = [202, 400, 401, 405, 409, 429, 500, 503];

/** Card tokens are made by browsers: a key in the query, and a 400 under HTTP 200. */
export const TOKENS: Family = {
  ...CORE,
  authorize: () => {},
  refuse(refusal, id) {
    const answer = CORE.refuse(refusal, id);
    return refusal.code === 400 ? { ...answer, http: 200 } : answer;
  },
  idempotency: null,
};

/** Linked accounts: the core without idempotency. */
export const ACCOUNTS: Family = { ...CORE, idempotency: null };

/** Subscriptions: real HTTP codes, and no code in the body. */
export const SUBSCRIPTIONS: Family = {
  authorize: needServerKey,
  succeed: (body) => ({ http: 200, body, isSuccess: true }),
  refuse: ({ code, message, validation }) => ({
    http: code,
    isSuccess: false,
    body: validation.length > 0
      ? { status_message: "Invalid parameter.", validation_messages: validation }
      : { status_message: message },
  }),
  idempotency: { header: "idempotency-key", life: SUBSCRIPTION_LIFE },
};

/** Invoices: real HTTP codes, and a list of errors. */
export const INVOICES: Family = {
  authorize: needServerKey,
  succeed: (body, http = 200) => ({ http, body, isSuccess: true }),
  refuse: ({ code, message, validation }) => ({
    http: code,
    isSuccess: false,
    body: { error_messages: validation.length > 0 ? validation : [message] },
  }),
  idempotency: { header: "x-idempotency-key", life: CORE_LIFE },
};

/** Card numbers' beginnings: either key opens it, and its 401 is bare text. */
export const BINS: Family = {
  authorize(authorization, { merchant }) {
    const key = basicUser(authorization);
    if (key !== merchant.serverKey && key !== merchant.clientKey) throw new Refusal(401);
  },
  succeed: (body) => ({ http: 200, body, isSuccess: true }),
  refuse: ({ code, message }) => ({
    http: code,
    isSuccess: false,
    body: code === 401
      ? "Unauthorized"
      : { errors: [{ message_title: "BIN look-up failed", message }] },
  }),
  idempotency: null,
};

/** The sandbox's own controls: HTTP says what is meant, and the body says it in words. */
export const CONTROL: Family = {
  ...SUBSCRIPTIONS,
  refuse: ({ code, message, validation }) => ({
    http: code,
    isSuccess: false,
    body: {
      status_message: message,
      ...validation.length > 0 && { validation_messages: validation },
    },
  }),
  idempotency: null,
};

function needServerKey(authorization: string | null, { merchant }: World): void {
  const key = basicUser(authorization);
  if (key === merchant.serverKey) return;
  if (!key) throw new Refusal(401, "Operation is not allowed due to unauthorized payload.");
  throw new Refusal(401);
}

/** The key is the user's name; the password is empty. */
function basicUser(authorization: string | null): string | null {
  const encoded = authorization?.match(/^Basic +([\w+/=-]+)$/i)?.[1];
  if (!encoded) return null;
  try {
    return atob(encoded).match(/^([^:]*):$/)?.[1] ?? null;
  } catch {
    return null;
  }
}

/** Successes are kept under their key, but for channels that do not support it. */
function isKept(body: Record<string, unknown>): boolean {
  const isSupported = !("permata_va_number" in body) && body.store !== "indomaret";
  return isSupported && /^2/.test(String(body.status_code));
}
