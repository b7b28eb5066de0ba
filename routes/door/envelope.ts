/** What every request gets and every answer bears: an id, safe headers, and a line in the log. */

import type { Clock } from "../../core/clock.ts";
import type { Log } from "../../core/log.ts";
import { redact } from "../../core/redact.ts";
import type { RequestContext } from "../app_env.ts";
import { renderError } from "../problem.ts";

export type Fetch = (
  request: Request,
  connection?: RequestContext["connection"],
) => Response | Promise<Response>;

type Inner = (request: Request, context: RequestContext) => Response | Promise<Response>;

/**
 * Few on purpose, for each costs every answer a microsecond: money matters are not for caches, and
 * no browser shall guess a type. A route that knows better sets its own.
 */
const SAFE_HEADERS = Object.entries({
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
});

/**
 * Around the app and not a middleware in it: those make every answer a promise, which costs a known
 * caller's request a tenth of its time.
 */
export function envelop(inner: Inner, { log, clock }: { log: Log; clock: Clock }): Fetch {
  function seal(answer: Response, method: string, context: RequestContext, began: number) {
    const { requestId, route, caller } = context;
    const response = stamp(answer, requestId);
    const { headers, status } = response;
    for (const [name, value] of SAFE_HEADERS) {
      if (!headers.has(name)) headers.append(name, value);
    }
    const durationMs = clock() - began;
    log.request({
      method: knownMethod(method),
      route,
      status,
      durationMs,
      caller: caller?.userId ?? null,
      requestId,
    });
    return response;
  }

  return function fetch(request, connection) {
    const began = clock();
    const context: RequestContext = {
      requestId: saneRequestId(request.headers.get("x-request-id")) ?? crypto.randomUUID(),
      log,
      connection,
      route: null,
      caller: null,
    };
    const finish = (response: Response) => seal(response, request.method, context, began);
    // The app renders errors by itself; what comes through it is none (somebody threw a string).
    const fail = (thrown: unknown) => finish(renderError(thrown, context));
    try {
      const response = inner(request, context);
      return response instanceof Promise ? response.then(finish).catch(fail) : finish(response);
    } catch (thrown) {
      return fail(thrown);
    }
  };
}

function stamp(response: Response, requestId: string): Response {
  try {
    response.headers.append("x-request-id", requestId);
    return response;
  } catch {
    // Made where headers are for reading only, such as `Response.redirect()`.
    return stamp(new Response(response.body, response), requestId);
  }
}

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** A method can be any word; one that no client means to send may be anything, a secret included. */
function knownMethod(method: string): string {
  return METHODS.has(method) ? method : "other";
}

/** The id is logged and answered, so nothing that looks like a secret may travel in it. */
function saneRequestId(sent: string | null): string | null {
  return sent !== null && /^[\w.:-]{1,128}$/.test(sent) && redact(sent) === sent ? sent : null;
}
