/** `keepReply`: stores the response of a handler with the request's `Idempotency-Key`. */

import type { Context, Handler } from "hono";
import { REPLAYED } from "../core/idempotency/reply.ts";
import { runOnce } from "../core/idempotency/run_once.ts";
import type { Service } from "../core/service.ts";
import { requestKeyOf } from "./idempotency.ts";
import { type AppEnv, callerOf } from "./router.ts";

/** For the operations that `runOnce` is for. */
export function keepReply<H>(service: Service, handler: H): H {
  const handle = handler as Handler<AppEnv>;
  const keep: Handler<AppEnv> = async function keep(c, next) {
    const requestKey = requestKeyOf(
      c.req.valid("header" as never),
      scopeOfRequest(c),
      c.req.valid("json" as never) ?? null,
    );
    if (!requestKey || !canStore(requestKey.scope)) return await handle(c, next);
    let response = null as Response | null;
    const { body } = await runOnce(service, callerOf(c), requestKey, async () => {
      response = await handle(c, next) as Response;
      return { status: response.status, text: await response.clone().text() };
    });
    return response ?? respond(body);
  };
  return keep as H;
}

/** PostgreSQL cannot index longer text. */
const MAX_SCOPE = 1_000;

/** PostgreSQL cannot store NUL. A path that is not stored names nothing: the response is 404. */
function canStore(scope: string): boolean {
  return scope.length <= MAX_SCOPE && !scope.includes("\0");
}

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
