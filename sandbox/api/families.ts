/**
 * The gateway's APIs differ in how they check keys and how they format errors. A family is a group
 * of endpoints that share both.
 */

import { ProxyError, Refusal, type RefusalCode, WrongType } from "../http/refusal.ts";
import type { ApiResponse } from "../http/response.ts";
import type { World } from "../world/world.ts";
import { CORE_LIFETIME, type IdempotencyRules, SUBSCRIPTION_LIFETIME } from "./idempotency.ts";

export interface Family {
  authorize(authorization: string | null, world: World): void;
  succeed(body: Record<string, unknown>, http?: number): ApiResponse;
  refuse(refusal: Refusal, id: string): ApiResponse;
  idempotency: IdempotencyRules | null;
}

/** `/v2`: `status_code` in the body is the result; the HTTP status is mostly 200. */
export const CORE: Family = {
  authorize: requireServerKey,
  succeed: (body) => ({ http: 200, body, isSuccess: canReplay(body) }),
  refuse(refusal, id) {
    if (refusal instanceof WrongType) return CORE.refuse(refusal.asPayloadError(), id);
    const { code, message, validation, members } = refusal;
    if (refusal instanceof ProxyError) return { http: code, isSuccess: false, body: { message } };
    return {
      http: CODES_SENT_AS_HTTP.includes(code) ? code : 200,
      isSuccess: false,
      body: {
        status_code: String(code),
        status_message: message,
        ...validation.length > 0 && { validation_messages: validation },
        id,
        ...members,
      },
    };
  },
  idempotency: { header: "idempotency-key", lifetime: CORE_LIFETIME },
};

/** Codes that are also sent as the HTTP status. */
const CODES_SENT_AS_HTTP: RefusalCode[] = [202, 400, 401, 405, 409, 429, 500, 503];

/**
 * Card tokens: requested by browsers with the client key in the query; 400 errors are sent with
 * HTTP 200.
 */
export const TOKENS: Family = {
  ...CORE,
  authorize: () => {},
  refuse(refusal, id) {
    const response = CORE.refuse(refusal, id);
    return refusal.code === 400 ? { ...response, http: 200 } : response;
  },
  idempotency: null,
};

/** Linked accounts: like the core API, without idempotency. */
export const ACCOUNTS: Family = { ...CORE, idempotency: null };

/** Subscriptions: the HTTP status is the result; the body has no code. */
export const SUBSCRIPTIONS: Family = {
  authorize: requireServerKey,
  succeed: (body) => ({ http: 200, body, isSuccess: true }),
  refuse: ({ code, message, validation }) => ({
    http: code,
    isSuccess: false,
    body: validation.length > 0
      ? { status_message: "Invalid parameter.", validation_messages: validation }
      : { status_message: message },
  }),
  idempotency: { header: "idempotency-key", lifetime: SUBSCRIPTION_LIFETIME },
};

/** Invoices: the HTTP status is the result; the body has a list of errors. */
export const INVOICES: Family = {
  authorize: requireServerKey,
  succeed: (body, http = 200) => ({ http, body, isSuccess: true }),
  refuse: ({ code, message, validation }) => ({
    http: code,
    isSuccess: false,
    body: { error_messages: validation.length > 0 ? validation : [message] },
  }),
  idempotency: { header: "x-idempotency-key", lifetime: CORE_LIFETIME },
};

/** Snap: like invoices, without idempotency, and with its own error for a wrong key. */
export const SNAP: Family = {
  ...INVOICES,
  authorize(authorization, { merchant }) {
    if (basicUser(authorization) === merchant.serverKey) return;
    throw new Refusal(401, WRONG_SNAP_KEY[0], WRONG_SNAP_KEY);
  },
  idempotency: null,
};

const WRONG_SNAP_KEY = [
  "Access denied due to unauthorized transaction, please check client or server key",
  "Visit https://snap-docs.midtrans.com/#request-headers for more details",
];

/** BIN lookup: accepts the server key or the client key; its 401 has a plain text body. */
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

/** The sandbox's own control API: the HTTP status is the result; the body has a message. */
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

function requireServerKey(authorization: string | null, { merchant }: World): void {
  const key = basicUser(authorization);
  if (key === merchant.serverKey) return;
  if (!key) throw new Refusal(401, "Operation is not allowed due to unauthorized payload.");
  throw new Refusal(401);
}

/** The key is the user name of Basic authentication; the password is empty. */
function basicUser(authorization: string | null): string | null {
  const encoded = authorization?.match(/^Basic +([\w+/=-]+)$/i)?.[1];
  if (!encoded) return null;
  try {
    return atob(encoded).match(/^([^:]*):$/)?.[1] ?? null;
  } catch {
    return null;
  }
}

/**
 * Only successful responses are stored for replay. Responses of Permata and Indomaret are never
 * stored, because the gateway does not support idempotency for them.
 */
function canReplay(body: Record<string, unknown>): boolean {
  const isSupported = !("permata_va_number" in body) && body.store !== "indomaret";
  return isSupported && /^2/.test(String(body.status_code));
}
