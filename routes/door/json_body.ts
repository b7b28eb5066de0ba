/** Takes no request body but JSON of a sane size. */

import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { ServiceError } from "../../core/errors.ts";
import type { AppEnv } from "../app_env.ts";

const MAX_BODY_BYTES = 256 * 1024;

const JSON_TYPE = /^application\/([\w.-]+\+)?json\s*(;|$)/i;

export function jsonBody(): MiddlewareHandler<AppEnv> {
  const limitSize = bodyLimit({
    maxSize: MAX_BODY_BYTES,
    onError: () => {
      throw new ServiceError("payload_too_large", {
        detail: `At most ${MAX_BODY_BYTES / 1024} KiB are taken.`,
      });
    },
  });
  return async function jsonBody(c, next) {
    const { headers } = c.req.raw;
    const type = headers.get("content-type");
    if ((type !== null || announcesBody(headers)) && !JSON_TYPE.test(type ?? "")) {
      throw new ServiceError("unsupported_media_type");
    }
    // Counted as it is read, too: HTTP/2 need not announce a body at all.
    return await limitSize(c, next);
  };
}

function announcesBody(headers: Headers): boolean {
  return headers.has("transfer-encoding") || (headers.get("content-length") ?? "0") !== "0";
}
