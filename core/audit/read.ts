/**
 * `listAudit`, for staff and viewers: lists the requests of callers that changed something, were
 * refused, or exported a file.
 */

import { MAX } from "uuid";
import {
  type AuditFilter,
  type AuditOutcome,
  type ChargeRow,
  findCharge,
  findKeyUser,
  listAuditEntries,
  type NamedAuditEntry,
  scanCharges,
} from "../../db/reports/audit.ts";
import type { Database } from "../../db/connection/database.ts";
import { type Caller, requireReadAll } from "../auth/caller.ts";
import { firstIdAt } from "../ids.ts";
import type { Service } from "../service.ts";
import { ACTIONS_OF_KIND, type AuditKind, kindOf } from "./kinds.ts";

export { AUDIT_OUTCOMES } from "../../db/reports/audit.ts";

/** Null: any value. */
export interface AuditQuery {
  actor: string | null;
  resourceId: string | null;
  outcome: AuditOutcome | null;
  /** The method and the route, such as `POST /payments/{pk}/refund/`. */
  action: string | null;
  /** The same action by the API or the console. */
  kind?: AuditKind | null;
  createdFrom: Date | null;
  /** Exclusive. */
  createdTo: Date | null;
  /** The `next` of the previous page. */
  before: string | null;
  limit: number;
}

export interface AuditView {
  id: string;
  actor: string;
  /** The name of the API key, or the subject of the JWT; null: the key is unknown. */
  actor_name: string | null;
  user_id: string | null;
  action: string;
  kind: AuditKind | null;
  resource_id: string | null;
  outcome: AuditOutcome;
  /** For a stored charge, this, `code` and `request_id` are null: the payment shows the result. */
  status: number | null;
  code: string | null;
  attempts: number;
  request_id: string | null;
  created_at: string;
}

export interface AuditPage {
  entries: AuditView[];
  /** Pass it as `before` to read the next page; null: this is the last page. */
  next: string | null;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

export async function listAudit(
  { database, clock, keep }: Service,
  caller: Caller,
  { actor, resourceId, action, kind, outcome, createdFrom, createdTo, before, limit }: AuditQuery,
): Promise<AuditPage> {
  requireReadAll(caller);
  const keptSince = new Date(Math.max(0, clock() - keep.audit * DAY_MS));
  const from = createdFrom && createdFrom > keptSince ? createdFrom : keptSince;
  const upTo = createdTo ? firstIdAt(createdTo) : MAX;
  const filter: AuditFilter = {
    actor,
    resourceId,
    action,
    outcome,
    first: firstIdAt(from),
    end: before !== null && before < upTo ? before : upTo,
    limit: limit + 1,
  };
  const wanted: readonly (string | null)[] = kind ? ACTIONS_OF_KIND[kind] : [action];
  // Each list is limited, and the page takes the newest entries of all lists.
  const entries = await database.query(async (sql) => {
    const lists: NamedAuditEntry[] = [];
    for (const each of wanted) {
      if (action !== null && each !== action) continue;
      lists.push(...await listAuditEntries(sql, { ...filter, action: each }));
    }
    return lists;
  }, "list audit");
  const { charges, scannedTo } = kind && kind !== "charge"
    ? NO_CHARGES
    : await listCharges(database, filter);
  const all = [...entries.map(viewEntry), ...charges].sort((a, b) => a.id < b.id ? 1 : -1)
    // Charges below this id were not read, so entries below it belong to the next page.
    .filter(({ id }) => scannedTo === null || id >= scannedTo);
  const page = all.slice(0, limit);
  return { entries: page, next: all.length > limit ? page.at(-1)!.id : scannedTo };
}

interface Charges {
  charges: AuditView[];
  /** Charges below this id were not read. Null: all were read, or there are enough for the page. */
  scannedTo: string | null;
}

/** The `action` of a charge. */
const CHARGE = "POST /charge/";

const NO_CHARGES: Charges = { charges: [], scannedTo: null };

/** Reads charges from the payments: a stored charge has no row in the audit table. */
async function listCharges(database: Database, filter: AuditFilter): Promise<Charges> {
  const { actor, resourceId, action, outcome, first, end } = filter;
  if (action !== null && action !== CHARGE) return NO_CHARGES;
  if (resourceId !== null) {
    if (!UUID.test(resourceId) || resourceId < first || resourceId >= end) return NO_CHARGES;
    const charge = await database.query((sql) => findCharge(sql, resourceId), "find charge");
    const isWanted = charge !== null && (actor === null || charge.created_by === actor) &&
      (outcome === null || outcomeOf(charge) === outcome);
    return isWanted ? { charges: [viewCharge(charge)], scannedTo: null } : NO_CHARGES;
  }
  const user = actor === null ? null : await findUser(database, actor);
  if (actor !== null && user === null) return NO_CHARGES;
  const { charges, scannedTo } = await database.query(
    (sql) => scanCharges(sql, filter, user),
    "list charges",
  );
  const isFull = charges.length === filter.limit;
  return {
    charges: charges.map((charge) =>
      viewCharge({ ...charge, created_at: new Date(charge.created_at) })
    ),
    scannedTo: isFull ? null : scannedTo,
  };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The user of the actor; null: the actor is unknown. */
async function findUser(database: Database, actor: string): Promise<string | null> {
  const [, credential, name] = actor.match(/^(api_key|jwt):(.+)$/s) ?? [];
  if (credential === "jwt") return name!;
  if (credential !== "api_key") return null;
  return await database.query((sql) => findKeyUser(sql, name!), "find key");
}

function outcomeOf({ is_refused }: ChargeRow): AuditOutcome {
  return is_refused ? "refused" : "changed";
}

function viewCharge(charge: ChargeRow): AuditView {
  return {
    id: charge.id,
    actor: charge.created_by!,
    actor_name: charge.created_by_name,
    user_id: charge.user_id,
    action: CHARGE,
    kind: kindOf(CHARGE),
    resource_id: charge.id,
    outcome: outcomeOf(charge),
    status: null,
    code: null,
    attempts: 1,
    request_id: null,
    created_at: charge.created_at.toISOString(),
  };
}

function viewEntry(entry: NamedAuditEntry): AuditView {
  return {
    id: entry.id,
    actor: entry.actor,
    actor_name: entry.actor_name,
    user_id: entry.user_id,
    action: entry.action,
    kind: kindOf(entry.action),
    resource_id: entry.resource_id,
    outcome: entry.outcome,
    status: entry.status,
    code: entry.code,
    attempts: entry.attempts,
    request_id: entry.request_id,
    created_at: entry.created_at.toISOString(),
  };
}

/** The id of a resource has lower case letters; the prefix of a key has both. */
export function parseResourceId(text: string): string {
  return text.startsWith("gk_") ? text : text.toLowerCase();
}
