/** `keepReply`: stores the response of a handler with the request's `Idempotency-Key`. */

import type { Context, Handler } from "hono";
import { claimOrResume, finishKey } from "../core/idempotency/keys.ts";
import { REPLAYED, replyFor } from "../core/idempotency/reply.ts";
import { newId } from "../core/ids.ts";
import type { Service } from "../core/service.ts";
import { requestKeyOf } from "./idempotency.ts";
import { type AppEnv, callerOf } from "./router.ts";

/**
 * For operations that have the same effect if they run twice, such as marking a difference: after a
 * crash before the response is stored, a repeated request runs the handler again. Operations for
 * which this is wrong use `changeOnce`, or store their own state. The response must contain no
 * secret, because it is stored in clear text.
 */
export function keepReply<H>(service: Service, handler: H): H {
  const handle = handler as Handler<AppEnv>;
  const keep: Handler<AppEnv> = async function keep(c, next) {
    const requestKey = requestKeyOf(
      c.req.valid("header" as never),
      scopeOfRequest(c),
      c.req.valid("json" as never) ?? null,
    );
    if (!requestKey || requestKey.scope.length > MAX_SCOPE) return await handle(c, next);
    const resourceId = newId(new Date(service.clock()));
    const claim = await claimOrResume(service, callerOf(c), requestKey, resourceId);
    if (claim.type === "replay") return respond(claim.body as KeptResponse);
    let response: Response;
    try {
      response = await handle(c, next) as Response;
    } catch (error) {
      await finishKey(service, claim.key, replyFor(error));
      throw error;
    }
    const body: KeptResponse = { status: response.status, text: await response.clone().text() };
    await finishKey(service, claim.key, { body });
    return response;
  };
  return keep as H;
}

/** PostgreSQL cannot index longer text. Such a path names nothing, so the response is 404. */
const MAX_SCOPE = 1_000;

interface KeptResponse {
  status: number;
  /** JSON, or empty. */
  text: string;
}

function respond({ status, text }: KeptResponse): Response {
  if (text === "") return new Response(null, { status, headers: REPLAYED });
  return new Response(text, {
    status,
    headers: { ...REPLAYED, "Content-Type": "application/json" },
  });
}

/** Method and path, in one form: an id may be sent in upper case, and the last slash be omitted. */
function scopeOfRequest(c: Context<AppEnv>): string {
  const path = c.env.route!.replaceAll(/:(\w+)/g, (_, name) => {
    const value = c.req.param(name) ?? "";
    // The prefix of an API key is case-sensitive; ids are not.
    return name === "prefix" ? value : value.toLowerCase();
  });
  return `${c.req.method} ${path}`;
}
