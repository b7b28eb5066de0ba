/** Decides which requests the audit trail records: changes, exports, and refused attempts. */

import type { AuditedRequest, AuditRecorder } from "../../core/audit/recorder.ts";
import type { RequestContext } from "../router.ts";
import { readsStoredData } from "./require_caller.ts";

/** Returns a promise only if the response has to wait until the request is recorded. */
export type AuditRequest = (
  request: Request,
  context: RequestContext,
  response: Response,
) => void | Promise<void>;

export function createAudit(recorder: AuditRecorder, basePath: string): AuditRequest {
  return function auditRequest(request, context, response) {
    const { caller, route, problem } = context;
    if (caller === null || route === null || context.isAuditExempt) return;
    const { status } = response;
    const isRead = readsStoredData(request.method, route);
    const path = route.slice(basePath.length);
    const isExport = EXPORTS.test(path) && request.method === "GET" && status === 200;
    // A refused read is an attempt to see what the caller must not see.
    if (isRead && status !== 403 && !isExport) return;
    // A stored payment names its actor in `created_by`, so its charge needs no entry.
    const isCharge = path === CHARGE && request.method === "POST";
    if (isCharge && (status === 201 || problem?.payment_id !== undefined)) return;
    // `check_status` applies only what the gateway reports. A replay repeats an earlier response.
    const isStatusCheck = status < 400 && request.method === "GET" && !isExport;
    if (isStatusCheck || response.headers.has("idempotency-replayed")) return;
    const audited: AuditedRequest = {
      caller,
      action: `${request.method} ${actionPath(path, route, request.url)}`,
      resourceId: context.resourceId ?? pathId(route, request.url) ?? createdId(response),
      status,
      code: problem?.code ?? null,
      requestId: context.requestId,
    };
    if (isExport) return recorder.recordExport(audited);
    if (status < 400) return recorder.recordChange(audited);
    recorder.recordRefusal(audited);
  };
}

const CHARGE = "/charge/";
const EXPORTS = /^\/exports\/|^\/console\/.+(\/export|\.csv|\.xlsx)\/$/;

/** A UUID, or the prefix of an API key. Any other text may be a secret, so it is not stored. */
const ID = /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|gk_[\w-]{8})$/;

function segmentOf(route: string, url: string, isWanted: (name: string) => boolean): string | null {
  const index = route.split("/").findIndex((part) =>
    part.startsWith(":") && isWanted(part.slice(1))
  );
  return index === -1 ? null : new URL(url).pathname.split("/")[index] ?? null;
}

function pathId(route: string, url: string): string | null {
  const segment = segmentOf(route, url, (name) => name !== "action_name");
  const id = segment?.startsWith("gk_") ? segment : segment?.toLowerCase();
  return id !== undefined && ID.test(id) ? id : null;
}

/** The id of a resource that the request created. */
function createdId({ headers }: Response): string | null {
  const id = headers.get("location")?.split("/").at(-2);
  return id !== undefined && ID.test(id) ? id : null;
}

/** The route as the API document writes it, with the name of the action. */
function actionPath(path: string, route: string, url: string): string {
  const action = segmentOf(route, url, (name) => name === "action_name");
  const named = action !== null && /^[a-z]{1,20}$/.test(action)
    ? path.replace(":action_name", action)
    : path;
  return named.replaceAll(/:(\w+)/g, "{$1}");
}
