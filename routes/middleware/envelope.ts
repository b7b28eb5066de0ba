/** What every request gets and every answer bears: an id, safe headers, and a line in the log. */

import type { Clock } from "../../core/clock.ts";
import type { Log } from "../../core/log.ts";
import { redact } from "../../core/redact.ts";
import type { RequestContext } from "../shared/request_context.ts";
import { renderError } from "../shared/problem.ts";

export type Fetch = (
  request: Request,
  connection?: RequestContext["connection"],
) => Response | Promise<Response>;

type Inner = (request: Request, context: RequestContext) => Response | Promise<Response>;

/**
 * Around the app and not a middleware in it: those make every answer a promise, which cost a known
 * caller's request about a tenth of its time when it was measured.
 */
export function envelop(inner: Inner, { log, clock }: { log: Log; clock: Clock }): Fetch {
  return function fetch(request, connection) {
    const began = clock();
    const context: RequestContext = {
      requestId: saneRequestId(request.headers.get("x-request-id")) ?? crypto.randomUUID(),
      log,
      connection,
      route: null,
      caller: null,
    };
    try {
      const response = inner(request, context);
      return response instanceof Promise
        ? response.catch((thrown) => renderError(thrown, context))
          .then((response) => seal(response, request, context, began))
        : seal(response, request, context, began);
    } catch (thrown) {
      // The app renders errors by itself; what comes through it is none (somebody threw a string).
      return seal(renderError(thrown, context), request, context, began);
    }
  };

  function seal(answer: Response, request: Request, context: RequestContext, began: number) {
    const { requestId, route, caller } = context;
    const head = request.method === "HEAD" ? withoutLength(answer) : answer;
    const response = withSafeHeaders(head, requestId);
    log.request({
      method: knownMethod(request.method),
      route,
      status: response.status,
      durationMs: clock() - began,
      caller: caller?.userId ?? null,
      requestId,
    });
    return response;
  }
}

/**
 * Few on purpose, for each costs every answer microseconds: money matters are not for caches unless
 * a route knows better, and no browser shall guess a type.
 */
function withSafeHeaders(response: Response, requestId: string): Response {
  const { headers } = response;
  try {
    headers.append("x-request-id", requestId);
  } catch {
    // Made where headers are for reading only, such as `Response.redirect()`.
    return withSafeHeaders(new Response(response.body, response), requestId);
  }
  if (!headers.has("cache-control")) headers.append("cache-control", "no-store");
  headers.append("x-content-type-options", "nosniff");
  return response;
}

/** An empty body alone would be sent with a length of 0, which is not that of GET. */
function withoutLength(head: Response): Response {
  if (head.body !== null || head.headers.has("content-length")) return head;
  if (head.status === 204 || head.status === 304) return head;
  return new Response(new ReadableStream({ start: (controller) => controller.close() }), head);
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
