/** Gives every request an id, every response safe headers, and writes the request log. */

import type { Clock } from "../../core/time/clock.ts";
import { invalidField } from "../../core/errors.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { redact } from "../../core/secrets/redact.ts";
import { recordRequest } from "../../core/telemetry/telemetry.ts";
import type { RequestContext } from "../router.ts";
import { renderError } from "../problems/render.ts";
import type { AuditRequest } from "./audit_requests.ts";

export type Fetch = (
  request: Request,
  connection?: RequestContext["connection"],
) => Response | Promise<Response>;

type Inner = (request: Request, context: RequestContext) => Response | Promise<Response>;

export interface WrapOptions {
  log: Log;
  clock: Clock;
  audit: AuditRequest;
  /** True while the service is shutting down. */
  isDraining: () => boolean;
}

/**
 * Wraps the app instead of being a Hono middleware: a middleware makes every response a promise,
 * which added about 10% to the time of a request in the benchmark.
 */
export function wrapRequests(inner: Inner, options: WrapOptions): Fetch {
  const { log, clock, audit, isDraining } = options;
  return function fetch(request, connection) {
    const began = clock();
    const context: RequestContext = {
      requestId: validRequestId(request.headers.get("x-request-id")) ?? crypto.randomUUID(),
      log,
      connection,
      route: null,
      caller: null,
      problem: null,
      resourceId: null,
      isAuditExempt: false,
    };
    try {
      requireValidHost(request.headers.get("host"));
      const response = inner(request, context);
      return response instanceof Promise
        ? response.catch((thrown) => renderError(thrown, context))
          .then((response) => auditAndFinish(response, request, context, began))
        : auditAndFinish(response, request, context, began);
    } catch (thrown) {
      // Hono catches only `Error` objects; this also catches other thrown values, such as a string.
      return auditAndFinish(renderError(thrown, context), request, context, began);
    }
  };

  /** A change is recorded before its response is sent. */
  function auditAndFinish(
    response: Response,
    request: Request,
    context: RequestContext,
    began: number,
  ): Response | Promise<Response> {
    const recorded = audit(request, context, response);
    return recorded instanceof Promise
      ? recorded.then(() => finish(response, request, context, began))
      : finish(response, request, context, began);
  }

  function finish(handled: Response, request: Request, context: RequestContext, began: number) {
    const { requestId, route, caller, problem } = context;
    const head = request.method === "HEAD" ? withoutLength(handled) : handled;
    const response = withSafeHeaders(head, requestId);
    // A proxy that keeps connections open could send its next request at the moment when the server
    // closes them, and must not repeat a POST then.
    if (isDraining()) response.headers.set("connection", "close");
    const method = knownMethod(request.method);
    const durationMs = clock() - began;
    recordRequest(durationMs, { method, route: route ?? "none", status: response.status });
    log.request({
      method,
      route,
      status: response.status,
      durationMs,
      caller: caller?.userId ?? null,
      requestId,
      problem,
    });
    return response;
  }
}

/**
 * Forbids caching unless the route sets `Cache-Control`, and forbids browsers to guess content
 * types. Adds no other security headers, because each header takes microseconds in every response.
 */
function withSafeHeaders(response: Response, requestId: string): Response {
  const { headers } = response;
  try {
    headers.append("x-request-id", requestId);
  } catch {
    // The headers of some responses are immutable, such as those of `Response.redirect()`.
    return withSafeHeaders(new Response(response.body, response), requestId);
  }
  if (!headers.has("cache-control")) headers.append("cache-control", "no-store");
  headers.append("x-content-type-options", "nosniff");
  return response;
}

/**
 * An empty body would be sent with `Content-Length: 0`, which is not the length of the GET
 * response.
 */
function withoutLength(head: Response): Response {
  if (head.body !== null || head.headers.has("content-length")) return head;
  if (head.status === 204 || head.status === 304) return head;
  return new Response(new ReadableStream({ start: (controller) => controller.close() }), head);
}

const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/**
 * The URL of a request is the Host header followed by the path, so a host such as `x/health/live?`
 * would change the path. HTTP/2 requests have no Host header, and their host is always valid.
 */
function requireValidHost(host: string | null): void {
  if (host === null || HOST.test(host)) return;
  throw invalidField("Host", "must be a host name or an IP address, with an optional port");
}

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Other methods are arbitrary text and may contain a secret, so they are not logged. */
function knownMethod(method: string): string {
  return METHODS.has(method) ? method : "other";
}

/** The id is logged and returned, so a value that looks like a secret is not accepted. */
function validRequestId(sent: string | null): string | null {
  return sent !== null && /^[\w.:-]{1,128}$/.test(sent) && redact(sent) === sent ? sent : null;
}
