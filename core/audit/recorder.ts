/**
 * Records requests that changed something, were refused, or exported a file. A refused request
 * costs no statement of its own: equal refusals are counted, and every two seconds one statement
 * stores a limited number of rows. So a flood of refused requests causes only a few writes.
 */

import { type AuditEntry, auditInserts, insertAuditEntries } from "../../db/reports/audit.ts";
import { batched } from "../../db/records/batched.ts";
import { actorOf, type Caller } from "../auth/caller.ts";
import { newId } from "../ids.ts";
import type { Service } from "../service.ts";
import { countUnrecordedAttempt } from "../telemetry/telemetry.ts";

/** What a caller requested, and the response. */
export interface AuditedRequest {
  caller: Caller;
  action: string;
  resourceId: string | null;
  status: number;
  /** The code of the problem; null: the response is not a problem. */
  code: string | null;
  requestId: string;
}

export interface AuditRecorder extends AsyncDisposable {
  /** Resolves when the change is recorded. Never rejects: a failure is logged. */
  recordChange(request: AuditedRequest): Promise<void>;
  /** Like `recordChange`, for a file that the caller downloads. */
  recordExport(request: AuditedRequest): Promise<void>;
  /** Counts the refusal; the next flush stores it. */
  recordRefusal(request: AuditedRequest): void;
  /** Resolves when all refusals so far are stored. */
  flush(): Promise<void>;
}

const FLUSH_MS = 2_000;

/** How many different refusals one flush stores. Further refusals are only counted. */
const MAX_REFUSALS = 40;

export function createAuditRecorder(
  service: Pick<Service, "database" | "clock" | "log">,
): AuditRecorder {
  const { database, log } = service;
  let refusals = new Map<string, AuditEntry>();
  let unrecorded = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let flushing = Promise.resolve();

  function recordRefusal(request: AuditedRequest): void {
    const { caller, action, resourceId, status, code } = request;
    const key = JSON.stringify([actorOf(caller), action, resourceId, status, code]);
    const known = refusals.get(key);
    if (known) known.attempts++;
    else if (refusals.size < MAX_REFUSALS) refusals.set(key, newEntry(service, request, "refused"));
    else {
      unrecorded++;
      countUnrecordedAttempt();
    }
    timer ??= setTimeout(flush, FLUSH_MS);
  }

  /** After the flush that is running, so that a shutdown waits for that one, too. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    return flushing = flushing.then(storeRefusals);
  }

  async function storeRefusals(): Promise<void> {
    const entries = [...refusals.values()];
    if (unrecorded > 0) log.info("audit_overflow", { unrecorded });
    refusals = new Map();
    unrecorded = 0;
    if (entries.length === 0) return;
    try {
      await database.query((sql) => insertAuditEntries(sql, entries), "insert audit entries");
    } catch (error) {
      log.error("audit_failed", error, { refusals: entries.length });
    }
  }

  return {
    recordChange: (request) => record(service, newEntry(service, request, "changed")),
    recordExport: (request) => record(service, newEntry(service, request, "exported")),
    recordRefusal,
    flush,
    [Symbol.asyncDispose]: flush,
  };
}

async function record(
  { database, log }: Pick<Service, "database" | "clock" | "log">,
  entry: AuditEntry,
): Promise<void> {
  try {
    await batched(database, auditInserts, entry);
  } catch (error) {
    // The change is made, so the caller must not get an error. The log replaces the row.
    const { actor, action, resource_id, request_id } = entry;
    log.error("audit_failed", error, { actor, action, resource_id, request_id });
  }
}

function newEntry(
  { clock }: Pick<Service, "database" | "clock" | "log">,
  request: AuditedRequest,
  outcome: AuditEntry["outcome"],
): AuditEntry {
  const { caller, action, resourceId, status, code, requestId } = request;
  const now = new Date(clock());
  return {
    id: newId(now),
    actor: actorOf(caller),
    user_id: caller.userId,
    action,
    resource_id: resourceId,
    outcome,
    status,
    code,
    attempts: 1,
    request_id: requestId,
    created_at: now,
  };
}
