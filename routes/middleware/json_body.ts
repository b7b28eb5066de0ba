/** Reads request bodies: only JSON, and at most 256 KiB. */

import type { MiddlewareHandler } from "hono";
import { ServiceError } from "../../core/errors.ts";
import type { AppEnv } from "../shared/router.ts";

const MAX_BODY_BYTES = 256 * 1024;

const JSON_TYPE = /^application\/([\w.-]+\+)?json\s*(;|$)/i;

export function jsonBody(): MiddlewareHandler<AppEnv> {
  return async function jsonBody(c, next) {
    const { headers } = c.req.raw;
    const type = headers.get("content-type");
    if ((type !== null || announcesBody(headers)) && !JSON_TYPE.test(type ?? "")) {
      throw new ServiceError("unsupported_media_type");
    }
    const length = headers.get("content-length");
    if (Number(length ?? 0) > MAX_BODY_BYTES) throw tooLarge();
    // Read before the handler runs, so that no handler sees a broken or endless connection.
    const text = await read(() => length === null ? countedText(c.req.raw) : c.req.text());
    // Where Hono caches a body that was already read.
    c.req.bodyCache.text = Promise.resolve(text) as never;
    await next();
  };
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

function tooLarge(): ServiceError {
  return new ServiceError("payload_too_large", {
    detail: `Maximum body size is ${MAX_BODY_BYTES / 1024} KiB.`,
  });
}
