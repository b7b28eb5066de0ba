/** Reads request bodies: only JSON, at most 256 KiB, and not too complex to parse. */

import type { MiddlewareHandler } from "hono";
import { ServiceError } from "../../core/errors.ts";
import { MAX_BODY_BYTES } from "../../core/fields/input.ts";
import type { AppEnv } from "../router.ts";
import {
  type JsonLimits,
  LARGE_OBJECT,
  MAX_ESCAPES,
  MAX_LARGE_MEMBERS,
  MAX_LONG_NUMBERS,
  replaceInexact,
  scanJson,
} from "./json_text.ts";

/**
 * Metadata of 15,000 characters rarely has more than 7,500 structural characters. The remaining
 * 2,500 are enough for the 100 items of an invoice, and for everything that the gateway sends in a
 * notification.
 */
export const DEFAULT_LIMITS: JsonLimits = { structure: 10_000 };

/** A charge can have 1,000 items of 8 fields, with 18 structural characters for each item. */
const ROUTE_LIMITS: Record<string, JsonLimits> = { "/charge/": { structure: 20_000 } };

export function limitsOf(path: string): JsonLimits {
  return ROUTE_LIMITS[path] ?? DEFAULT_LIMITS;
}

const JSON_TYPE = /^application\/([\w.-]+\+)?json\s*(;|$)/i;

/** `limits`: null if the handler checks and parses the text itself. */
export function jsonBody(limits: JsonLimits | null): MiddlewareHandler<AppEnv> {
  return async function jsonBody(c, next) {
    const { headers } = c.req.raw;
    const isJson = JSON_TYPE.test(headers.get("content-type") ?? "");
    if (!isJson && announcesBody(headers)) throw notJson();
    const length = headers.get("content-length");
    if (Number(length ?? 0) > MAX_BODY_BYTES) throw tooLarge();
    // Read before the handler runs, so that no handler sees a broken or endless connection.
    const text = await read(() => length === null ? countedText(c.req.raw) : c.req.text());
    // Some clients send a content type without a body, for example with DELETE.
    if (!isJson && text !== "") throw notJson();
    const checked = limits === null ? text : checkText(text, limits);
    // Hono takes the body from this cache instead of reading it again.
    c.req.bodyCache.text = Promise.resolve(checked) as never;
    await next();
  };
}

function notJson(): ServiceError {
  return new ServiceError("unsupported_media_type", {
    detail: "Send the body as JSON, with Content-Type: application/json.",
  });
}

function announcesBody(headers: Headers): boolean {
  return headers.has("transfer-encoding") || (headers.get("content-length") ?? "0") !== "0";
}

async function read(text: () => Promise<string>): Promise<string> {
  try {
    return await text();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError("malformed_json", {
      detail: "The request body was incomplete. Send the request again.",
      cause: error,
    });
  }
}

/** Chunked and HTTP/2 requests may have no length, so the bytes are counted while reading. */
async function countedText({ body }: Request): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BODY_BYTES) throw tooLarge();
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Rejects text that would be slow to parse, before it is parsed. */
function checkText(text: string, limits: JsonLimits): string {
  const scan = scanJson(text, limits);
  if (!scan.isTooComplex) return replaceInexact(text, scan);
  throw new ServiceError("payload_too_large", { detail: `The body ${tooComplex(limits)}.` });
}

/** Names every limit, because the scan stops at the first one that is exceeded. */
export function tooComplex({ structure }: JsonLimits): string {
  return `must have at most ${structure} structural characters ({ } [ ] : ,), ${MAX_LARGE_MEMBERS} ` +
    `members beyond the first ${LARGE_OBJECT} of each object, ${MAX_ESCAPES} escape sequences, ` +
    `and ${MAX_LONG_NUMBERS} fractions of more than 15 digits`;
}

function tooLarge(): ServiceError {
  return new ServiceError("payload_too_large", {
    detail: `Maximum body size is ${MAX_BODY_BYTES / 1024} KiB.`,
  });
}
